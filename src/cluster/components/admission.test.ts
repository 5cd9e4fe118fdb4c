import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { admissionConfigurations } from './admission.ts';

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
