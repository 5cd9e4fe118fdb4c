/** The users that service accounts are: `system:serviceaccount:NAMESPACE:NAME`, in a group of all and one of their namespace. */

const serviceAccountPrefix = 'system:serviceaccount:';

export function serviceAccountUsername(namespace: string, name: string): string {
  return `${serviceAccountPrefix}${namespace}:${name}`;
}

export function serviceAccountGroups(namespace: string): readonly string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
}

/** Undefined for other users. */
export function splitServiceAccountUsername(
  username: string,
): { readonly namespace: string; readonly name: string } | undefined {
  if (!username.startsWith(serviceAccountPrefix)) return undefined;
  const [namespace, name, ...rest] = username.slice(serviceAccountPrefix.length).split(':');
  return namespace && name && rest.length === 0 ? { namespace, name } : undefined;
}
