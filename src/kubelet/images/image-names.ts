/** Names of images: `registry/path:tag@digest`, of which only the path must be there. Pure. */

/** With its registry: `busybox` is `docker.io/library/busybox`. */
export function qualified(image: string): string {
  const [first = '', ...rest] = image.split('/');
  if (rest.length === 0) return `docker.io/library/${image}`;
  return first.includes('.') || first.includes(':') || first === 'localhost' ? image : `docker.io/${image}`;
}

/** With the tag `latest` when it has neither tag nor digest. */
export function withDefaultTag(image: string): string {
  const lastPart = image.slice(image.lastIndexOf('/') + 1);
  return lastPart.includes(':') || lastPart.includes('@') ? image : `${image}:latest`;
}

/** Without tag and digest: `host:5000/app:1@sha256:00` is `host:5000/app`. */
export function withoutTag(image: string): string {
  const [name = ''] = image.split('@');
  const lastPart = name.lastIndexOf('/') + 1;
  const tag = name.indexOf(':', lastPart);
  return tag < 0 ? name : name.slice(0, tag);
}

/** What credentials are looked up by: `docker.io/library/busybox`. */
export const repositoryOf = (image: string): string => qualified(withoutTag(image));
