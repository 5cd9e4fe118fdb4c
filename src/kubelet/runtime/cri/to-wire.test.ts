import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SandboxConfig, SecurityProfile } from '../runtime.ts';
import { sandboxConfig } from './to-wire.ts';

const confinedBy = (seccomp: SecurityProfile): SandboxConfig => ({
  metadata: { name: 'a', namespace: 'default', uid: 'u', attempt: 0 },
  hostname: 'a',
  logDirectory: '',
  portMappings: [],
  labels: {},
  annotations: {},
  cgroupParent: '',
  sysctls: {},
  security: { namespaces: { network: 'pod', pid: 'container', ipc: 'pod' }, privileged: false, seccomp },
});

test('runtimes of v1alpha2 are told of a profile by its name, which is all they know', () => {
  const profiles: readonly (readonly [SecurityProfile, string])[] = [
    [{ type: 'RuntimeDefault' }, 'runtime/default'],
    [{ type: 'Unconfined' }, 'unconfined'],
    [{ type: 'Localhost', localhostRef: '/profiles/a.json' }, 'localhost//profiles/a.json'],
  ];
  for (const [profile, name] of profiles) {
    const told = sandboxConfig(confinedBy(profile), 'v1alpha2').linux?.securityContext;
    assert.deepEqual([told?.seccompProfilePath, told?.seccomp?.profileType], [name, profile.type]);
    assert.equal(sandboxConfig(confinedBy(profile), 'v1').linux?.securityContext?.seccompProfilePath, undefined);
  }
});
