/** Huge pages by the name that the kernel gives their size: the resource `hugepages-2Mi` is `2MB`. */
export function pageSizeOf(resource: string): string {
  return resource.replace(/^hugepages-(\d+)([KMG])i$/, '$1$2B');
}
