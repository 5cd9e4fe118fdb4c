import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deployments } from '../../../api/gen/apps-v1.ts';
import { namespaces, type Pod, pods } from '../../../api/gen/core-v1.ts';
import { attributesOf, pluginHarness, refusalOf, run } from '../admission.fixture.ts';
import { policyOf } from '../pod-security/policy.ts';
import { violations } from '../pod-security/violations.ts';
import { podSecurity } from './pod-security.ts';

const restrictedContext = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' as const },
};
const pod = (spec: Partial<Pod['spec']> = {}, metadata: Pod['metadata'] = {}): Pod => ({
  metadata: { name: 'web', namespace: 'a', ...metadata },
  spec: { containers: [{ name: 'c', securityContext: restrictedContext }], ...spec },
});
const container = (securityContext: object, name = 'c') => ({
  name,
  securityContext: { ...restrictedContext, ...securityContext },
});
const latest = Number.POSITIVE_INFINITY;

describe('Pod Security Standards', () => {
  const cases: readonly (readonly [string, 'baseline' | 'restricted', Pod, string | undefined, number?])[] = [
    ['a strict pod', 'restricted', pod(), undefined],
    [
      'privileged',
      'baseline',
      pod({ containers: [container({ privileged: true })] }),
      'privileged (container "c" must not set securityContext.privileged=true)',
    ],
    [
      'two privileged',
      'baseline',
      pod({ containers: [container({ privileged: true }), container({ privileged: true }, 'd')] }),
      'privileged (containers "c", "d" must not set securityContext.privileged=true)',
    ],
    [
      'host namespaces',
      'baseline',
      pod({ hostNetwork: true, hostPID: true }),
      'host namespaces (hostNetwork=true, hostPID=true)',
    ],
    [
      'hostPath',
      'baseline',
      pod({ volumes: [{ name: 'v', hostPath: { path: '/' } }] }),
      'hostPath volumes (volume "v")',
    ],
    [
      'hostPort',
      'baseline',
      pod({ containers: [{ name: 'c', ports: [{ containerPort: 1, hostPort: 80 }] }] }),
      'hostPort (container "c" uses hostPort 80)',
    ],
    [
      'capabilities',
      'baseline',
      pod({ containers: [container({ capabilities: { add: ['SYS_ADMIN', 'CHOWN'] } })] }),
      'non-default capabilities (container "c" must not include "SYS_ADMIN" in securityContext.capabilities.add)',
    ],
    [
      'procMount',
      'baseline',
      pod({ containers: [container({ procMount: 'Unmasked' })] }),
      'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ],
    [
      'procMount in own users',
      'baseline',
      pod({ hostUsers: false, containers: [container({ procMount: 'Unmasked' })] }),
      undefined,
    ],
    [
      'SELinux',
      'baseline',
      pod({ securityContext: { seLinuxOptions: { type: 'x', user: 'u' } } }),
      'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "x"; user may not be set)',
    ],
    [
      'seccomp',
      'baseline',
      pod({ securityContext: { seccompProfile: { type: 'Unconfined' } } }),
      'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
    ],
    [
      'sysctls',
      'baseline',
      pod({
        securityContext: {
          sysctls: [
            { name: 'kernel.x', value: '1' },
            { name: 'net.ipv4.tcp_rmem', value: '1' },
          ],
        },
      }),
      'forbidden sysctls (kernel.x)',
    ],
    [
      'sysctls of a later version',
      'baseline',
      pod({ securityContext: { sysctls: [{ name: 'net.ipv4.tcp_rmem', value: '1' }] } }),
      'forbidden sysctls (net.ipv4.tcp_rmem)',
      28,
    ],
    [
      'AppArmor',
      'baseline',
      pod({ securityContext: { appArmorProfile: { type: 'Unconfined' } } }),
      'forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")',
    ],
    [
      'probe hosts',
      'baseline',
      pod({ containers: [{ name: 'c', livenessProbe: { httpGet: { port: 1, host: '10.0.0.1' } } }] }),
      'probe or lifecycle host (container "c" uses probe or lifecycle host "10.0.0.1")',
    ],
    [
      'probe hosts before there was a rule',
      'baseline',
      pod({ containers: [{ name: 'c', livenessProbe: { httpGet: { port: 1, host: '10.0.0.1' } } }] }),
      undefined,
      33,
    ],
    [
      'host process',
      'baseline',
      pod({ securityContext: { windowsOptions: { hostProcess: true } } }),
      'hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)',
    ],
    [
      'a plain pod at restricted',
      'restricted',
      pod({ containers: [{ name: 'c' }] }),
      'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    ],
    [
      'root at restricted',
      'restricted',
      pod({ containers: [container({ runAsUser: 0 })] }),
      'runAsUser=0 (container "c" must not set runAsUser=0)',
    ],
    [
      'volumes at restricted',
      'restricted',
      pod({
        volumes: [
          { name: 'v', hostPath: { path: '/' } },
          { name: 'w', nfs: { server: 's', path: '/' } },
        ],
      }),
      'restricted volume types (volumes "v", "w" use restricted volume types "hostPath", "nfs")',
    ],
    [
      'Windows at restricted',
      'restricted',
      pod({ os: { name: 'windows' }, containers: [{ name: 'c', securityContext: { runAsNonRoot: true } }] }),
      undefined,
    ],
  ];
  for (const [name, level, object, expected, minor] of cases) {
    it(name, () => assert.equal(violations(object, { level, minor: minor ?? latest }), expected));
  }
});

describe('Policy of a namespace', () => {
  const prefix = 'pod-security.kubernetes.io/';
  it('is privileged without labels', () => {
    const { enforce, warn } = policyOf(undefined);
    assert.deepEqual(
      [enforce, warn],
      [
        { level: 'privileged', minor: latest },
        { level: 'privileged', minor: latest },
      ],
    );
  });
  it('warns of what it enforces, unless told otherwise', () => {
    const version = { [`${prefix}enforce-version`]: 'v1.28' };
    assert.deepEqual(policyOf({ [`${prefix}enforce`]: 'baseline', ...version }).warn, { level: 'baseline', minor: 28 });
    assert.equal(
      policyOf({ [`${prefix}enforce`]: 'baseline', [`${prefix}warn`]: 'restricted' }).warn.level,
      'restricted',
    );
  });
});

describe('PodSecurity', () => {
  const namespace = (labels: Record<string, string>) => ({
    metadata: {
      name: 'a',
      labels: Object.fromEntries(
        Object.entries(labels).map(([key, value]) => [`pod-security.kubernetes.io/${key}`, value]),
      ),
    },
    spec: {},
  });
  const bad = pod({ containers: [{ name: 'c' }], hostNetwork: true });

  it('refuses what the namespace forbids', async () => {
    const { api, context } = pluginHarness();
    api.put(namespaces, namespace({ enforce: 'baseline' }));
    assert.equal(
      await refusalOf(podSecurity(context), attributesOf({ type: pods, object: bad })),
      'pods "web" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)',
    );
  });

  it('warns about a workload without refusing it', async () => {
    const { api, context } = pluginHarness();
    api.put(namespaces, namespace({ enforce: 'baseline' }));
    const object = { metadata: { name: 'web', namespace: 'a' }, spec: { template: bad } };
    const attributes = attributesOf({ type: deployments, object });
    await run(podSecurity(context), attributes);
    assert.deepEqual(attributes.warnings, [
      'would violate PodSecurity "baseline:latest": host namespaces (hostNetwork=true)',
    ]);
  });

  it('judges a template that has no metadata', async () => {
    const { api, context } = pluginHarness();
    api.put(namespaces, namespace({ warn: 'restricted', audit: 'baseline' }));
    const { spec } = bad;
    const object = { metadata: { name: 'web', namespace: 'a' }, spec: { template: { spec } } };
    const attributes = attributesOf({ type: deployments, object });
    await run(podSecurity(context), attributes);
    assert.match(attributes.warnings[0]!, /^would violate PodSecurity "restricted:latest": host namespaces/);
  });

  it('looks at an update only when it brings containers or images', async () => {
    const { api, context } = pluginHarness();
    api.put(namespaces, namespace({ enforce: 'baseline' }));
    assert.equal(
      await refusalOf(podSecurity(context), attributesOf({ type: pods, object: bad, oldObject: bad })),
      undefined,
    );
    const changed = pod({ hostNetwork: true, containers: [{ name: 'c', image: 'new' }] });
    assert.match(
      (await refusalOf(podSecurity(context), attributesOf({ type: pods, object: changed, oldObject: bad })))!,
      /violates PodSecurity/,
    );
  });

  it('refuses labels that mean nothing', async () => {
    const { context } = pluginHarness();
    assert.equal(
      await refusalOf(
        podSecurity(context),
        attributesOf({ type: namespaces, object: namespace({ enforce: 'strict' }) }),
      ),
      'Namespace "a" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted',
    );
  });

  it('warns of the pods that a stricter policy would refuse', async () => {
    const { api, context } = pluginHarness();
    api.put(pods, bad, pod({ hostNetwork: true, containers: [] }, { name: 'two' }), pod({}, { name: 'good' }));
    const attributes = attributesOf({
      type: namespaces,
      object: namespace({ enforce: 'baseline' }),
      oldObject: namespace({}),
    });
    await run(podSecurity(context), attributes);
    assert.deepEqual(attributes.warnings, [
      'existing pods in namespace "a" violate the new PodSecurity enforce level "baseline:latest"',
      'two (and 1 other pod): host namespaces (hostNetwork=true)',
    ]);
  });
});
