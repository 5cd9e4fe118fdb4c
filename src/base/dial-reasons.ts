/** Why a connection could not be made, by the system's code, in the words of Go's network library: users find them in messages and compare. */
export const dialReasons: Readonly<Record<string, string>> = {
  ENOENT: 'connect: no such file or directory',
  ECONNREFUSED: 'connect: connection refused',
  EACCES: 'connect: permission denied',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
};
