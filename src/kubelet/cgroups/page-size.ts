/** Huge pages by their names: the resource `hugepages-2Mi` is `2MB` in cgroups, and 2048 KiB in /sys. */

export function pageResource(kibibytes: number): string {
  return kibibytes >= 1024 ** 2 ? `hugepages-${kibibytes / 1024 ** 2}Gi` : `hugepages-${kibibytes / 1024}Mi`;
}

export function pageSizeOf(resource: string): string {
  return resource.replace(/^hugepages-(\d+)([KMG])i$/, '$1$2B');
}
