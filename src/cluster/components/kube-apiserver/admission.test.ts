import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../../base/clock.ts';
import { admissionConfigurations, withImagePolicyServer } from './admission.ts';

describe('--admission-control-config-file', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'admission-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  function written(name: string, text: string): string {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  }

  const head = 'apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n';

  it('holds configurations in place, and names files beside it', () => {
    written('selectors.yaml', 'podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: a=b}');
    const path = written(
      'config.yaml',
      `${head}plugins:
- name: PodSecurity
  configuration: {kind: PodSecurityConfiguration, defaults: {enforce: baseline}}
- {name: PodNodeSelector, path: selectors.yaml}
- {name: Priority}
`,
    );
    assert.deepEqual(
      [...admissionConfigurations(path)!],
      [
        ['PodSecurity', { kind: 'PodSecurityConfiguration', defaults: { enforce: 'baseline' } }],
        ['PodNodeSelector', { podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: 'a=b' } }],
      ],
    );
  });

  it('reads the kubeconfig that ImagePolicyWebhook is to use', async () => {
    const kubeconfig = written(
      'images.yaml',
      `{clusters: [{name: c, cluster: {server: "https://images.example/review"}}], users: [{name: u, user: {token: t}}],
        contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}`,
    );
    const given = (kubeConfigFile: string) => new Map([['ImagePolicyWebhook', { imagePolicy: { kubeConfigFile } }]]);
    const read = await withImagePolicyServer(given(kubeconfig), systemClock);
    const { server } = read!.get('ImagePolicyWebhook') as { server?: { server?: string } };
    assert.equal(server?.server, 'https://images.example/review');
    await assert.rejects(withImagePolicyServer(given(join(folder, 'none')), systemClock), /kubeConfigFile .*ENOENT/);
    const others = new Map([['PodSecurity', {}]]);
    assert.equal(await withImagePolicyServer(others, systemClock), others);
  });

  it('may be left out', () => assert.equal(admissionConfigurations(undefined), undefined));

  it('is refused when it is of another kind, has fields that nobody knows, or says something twice', () => {
    const twice = '- {name: A, configuration: {}}\n';
    const cases: readonly (readonly [text: string, message: RegExp])[] = [
      ['kind: Other', /no kind "Other" is registered for version ""/],
      [`${head}plugin: []`, /unknown field "plugin"/],
      [`${head}plugins:\n${twice}${twice}`, /plugin A is configured twice/],
      [`${head}plugins: [{name: A, path: none.yaml}]`, /none\.yaml/],
    ];
    for (const [text, message] of cases) {
      assert.throws(() => admissionConfigurations(written('wrong.yaml', text)), message);
    }
  });
});
