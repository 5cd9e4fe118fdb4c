/**
 * Which resource a key of the store belongs to: built-in ones by their prefix (`/registry/services/specs/`, `/registry/leases/`), all
 * others by the form that custom resources have, `/registry/<group>/<plural>/`.
 */
export interface KeptResource {
  /** `/registry/secrets/`. */
  readonly prefix: string;
  /** `secrets`, `deployments.apps`. */
  readonly name: string;
}

/** The function remembers what it has been asked, by the part of the key that names the resource. */
export function resourceOfKey(builtin: readonly KeptResource[]): (key: string) => string | undefined {
  const names = new Map(builtin.map(({ prefix, name }) => [prefix, name]));
  return (key) => {
    const first = key.indexOf('/', 1);
    const second = key.indexOf('/', first + 1);
    if (!key.startsWith('/registry/') || second < 0) return undefined;
    const third = key.indexOf('/', second + 1);
    const known = (third < 0 ? undefined : names.get(key.slice(0, third + 1))) ?? names.get(key.slice(0, second + 1));
    if (known !== undefined || third < 0) return known;
    return `${key.slice(second + 1, third)}.${key.slice(first + 1, second)}`;
  };
}
