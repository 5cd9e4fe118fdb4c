/** `kubectl auth` in every release found: what one may do, who one is, rights handed on, and acting as somebody else. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type EmbeddedControlPlane, startControlPlane } from '../../src/testing/index.ts';
import { kubectlReleases } from '../../src/testing/kubectl.ts';
import { needs } from '../../src/testing/needs.ts';

const all = kubectlReleases();
const releases = all.filter((_, i) => i === 0 || i === all.length - 1);

const rights = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: default}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: act-as-alice}
rules:
- {apiGroups: [authentication.k8s.io], resources: [users], resourceNames: [alice], verbs: ["impersonate:user-info"]}
- {apiGroups: [""], resources: [pods], verbs: ["impersonate-on:user-info:list"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: act-as-alice}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: act-as-alice}
subjects:
- {kind: ServiceAccount, namespace: default, name: default}
`;

describe('kubectl auth', needs('kubectl'), () => {
  let cluster: EmbeddedControlPlane;
  const folder = mkdtempSync(join(tmpdir(), 'coracle-auth-'));
  const kubeconfig = join(folder, 'kubeconfig');
  const file = join(folder, 'rights.yaml');
  before(async () => {
    cluster = await startControlPlane();
    writeFileSync(kubeconfig, cluster.kubeconfig);
    writeFileSync(file, rights);
  });
  after(async () => {
    await cluster.stop();
    rmSync(folder, { recursive: true });
  });

  for (const { release, path } of releases) {
    const run = (...words: string[]) =>
      new Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>((resolve) => {
        const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: folder };
        execFile(path, words, { env }, (error, stdout, stderr) => {
          resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr });
        });
      });
    const succeed = async (...words: string[]) => {
      const { code, stdout, stderr } = await run(...words);
      assert.equal(code, 0, stderr);
      return stdout;
    };

    test(`${release} reconciles rights, lists them and says who one is`, async () => {
      assert.match(await succeed('auth', 'reconcile', '-f', file), /reader reconciled/);
      assert.match(await succeed('auth', 'can-i', '--list', '--as=alice'), /^pods +\[\] +\[\] +\[get list\]$/m);
      assert.equal((await succeed('auth', 'can-i', 'list', 'pods', '--as=alice')).trim(), 'yes');
      assert.equal((await run('auth', 'can-i', 'delete', 'pods', '--as=alice')).stdout.trim(), 'no');
      // The oldest release has the command among its alpha ones, under an API that is gone.
      const whoami = await run('auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}', '--as=alice');
      if (whoami.code === 0) assert.equal(whoami.stdout, 'alice');
      else assert.match(whoami.stderr, /unknown|not enabled/);
    });

    test(`${release} acts as somebody else only as far as it may`, async () => {
      const token = (await succeed('create', 'token', 'default')).trim();
      // A certificate would count before a token.
      const text = cluster.kubeconfig.replace(/client-(certificate|key)-data: .*/g, '');
      const bare = join(folder, 'bare');
      writeFileSync(bare, text);
      const as = [`--kubeconfig=${bare}`, `--token=${token}`, '--as=alice'];
      const listed = await run('get', 'pods', ...as);
      assert.equal(listed.code, 0, listed.stderr);
      const refused = await run('get', 'pods', 'web', ...as);
      assert.match(refused.stderr, /cannot impersonate-on:user-info:get resource "pods" in API group ""/);
    });
  }
});
