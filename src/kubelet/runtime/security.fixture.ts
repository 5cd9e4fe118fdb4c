import type { ContainerSecurity } from './runtime.ts';

/** Of a container that neither has nor lacks anything particular. */
export const ordinarySecurity: ContainerSecurity = {
  namespaces: { network: 'pod', pid: 'container', ipc: 'pod' },
  privileged: false,
  readonlyRootfs: false,
  noNewPrivileges: false,
  addCapabilities: [],
  dropCapabilities: [],
  supplementalGroups: [],
  maskedPaths: [],
  readonlyPaths: [],
};
