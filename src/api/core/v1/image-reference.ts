/**
 * Reads the name of a container image as registries write it: `registry.example:5000/team/app:1.2@sha256:...`. Names without a
 * registry belong to `docker.io`, single words to its `library/`. It knows the grammar alone and asks no registry.
 */

export interface ImageReference {
  /** `docker.io/library/nginx`. */
  readonly repository: string;
  /** Empty when the name has none. */
  readonly tag: string;
  /** `sha256:<hex>`; empty when the name has none. */
  readonly digest: string;
}

const domainLabel = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const domain = new RegExp(`^(?:${domainLabel}(?:\\.${domainLabel})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?$`);
const path = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
const tag = /^\w[\w.-]{0,127}$/;
const digest = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;
const identifier = /^[a-f0-9]{64}$/;
const longestRepository = 255;

/** Undefined when the text is no image name. */
export function parseImageReference(text: string): ImageReference | undefined {
  if (identifier.test(text)) return undefined;
  const [named = '', digestText, ...more] = text.split('@');
  if (more.length > 0 || (digestText !== undefined && !digest.test(digestText))) return undefined;
  const colon = named.lastIndexOf(':');
  const hasTag = colon > named.lastIndexOf('/');
  const tagText = hasTag ? named.slice(colon + 1) : '';
  if (hasTag && !tag.test(tagText)) return undefined;
  const repository = normalize(hasTag ? named.slice(0, colon) : named);
  return repository === undefined ? undefined : { repository, tag: tagText, digest: digestText ?? '' };
}

/** What a kubelet does with an image whose policy is not set: names that move (`latest`) are pulled each time. */
export function defaultPullPolicy(image: string): 'Always' | 'IfNotPresent' {
  const reference = parseImageReference(image);
  if (!reference) return 'IfNotPresent';
  const moves = reference.tag === 'latest' || (reference.tag === '' && reference.digest === '');
  return moves ? 'Always' : 'IfNotPresent';
}

function normalize(name: string): string | undefined {
  const slash = name.indexOf('/');
  const first = slash < 0 ? '' : name.slice(0, slash);
  const isDomain = first !== '' && (/[.:]/.test(first) || first === 'localhost' || first.toLowerCase() !== first);
  const host = isDomain ? first : 'docker.io';
  let rest = isDomain ? name.slice(slash + 1) : name;
  if (host === 'docker.io' && !rest.includes('/')) rest = `library/${rest}`;
  const repository = `${host}/${rest}`;
  return domain.test(host) && path.test(rest) && repository.length <= longestRepository ? repository : undefined;
}
