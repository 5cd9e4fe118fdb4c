/** Broken manifests given to the real kubectl: what its user reads is what he would read of any other cluster. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { deployments } from '../../src/api/gen/apps-v1.ts';
import { configMaps } from '../../src/api/gen/core-v1.ts';
import { kubectlReleases } from '../../src/testing/kubectl.ts';
import { needs } from '../../src/testing/needs.ts';
import { type OpenCluster, openCluster } from './cluster.ts';

interface Mistake {
  readonly name: string;
  readonly words: readonly string[];
  /** Written to `manifest.yaml`. */
  readonly manifest?: string;
  /** All that kubectl says. */
  readonly says: string | RegExp;
}

const apply = ['apply', '-f', 'manifest.yaml'];
const creating = 'error when creating "manifest.yaml": ';
const configMap = (name: string, rest = '') => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${rest}`;
const noMatch = (kind: string, version: string) =>
  `error: resource mapping not found for name: "x" namespace: "" from "manifest.yaml": no matches for kind "${kind}" in version "${version}"\nensure CRDs are installed first\n`;
const notSet = (what: string) =>
  `error: error validating "manifest.yaml": error validating data: ${what} not set; if you choose to ignore these errors, turn validation off with --validate=false\n`;
const dnsSubdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const mistakes: readonly Mistake[] = [
  {
    name: 'YAML with tabs',
    words: apply,
    manifest: 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: x\n',
    says: 'error: error parsing manifest.yaml: error converting YAML to JSON: yaml: line 4: found character that cannot start any token\n',
  },
  { name: 'no kind', words: apply, manifest: 'apiVersion: v1\nmetadata: {name: x}\n', says: notSet('kind') },
  { name: 'no version', words: apply, manifest: 'kind: ConfigMap\nmetadata: {name: x}\n', says: notSet('apiVersion') },
  {
    name: 'an unknown kind',
    words: apply,
    manifest: 'apiVersion: v1\nkind: Nonsense\nmetadata: {name: x}\n',
    says: noMatch('Nonsense', 'v1'),
  },
  {
    name: 'a version of the past',
    words: apply,
    manifest: 'apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: {name: x}\n',
    says: noMatch('Deployment', 'extensions/v1beta1'),
  },
  {
    name: 'a number where a text should be',
    words: apply,
    manifest: configMap('x', 'data:\n  port: 8080\n'),
    says: `Error from server (BadRequest): ${creating}ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string\n`,
  },
  {
    name: 'a misspelt field',
    words: apply,
    manifest: configMap('x', 'dta: {}\n'),
    says: `Error from server (BadRequest): ${creating}ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dta"\n`,
  },
  {
    name: 'a misspelt field that is only to be warned of',
    words: [...apply, '--validate=warn', '--dry-run=server'],
    manifest: configMap('x', 'dta: {}\n'),
    says: 'configmap/x created (server dry run)\nWarning: unknown field "dta"\n',
  },
  {
    name: 'a name that is none',
    words: apply,
    manifest: configMap('Bad_Name'),
    says: `The ConfigMap "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name": ${dnsSubdomain}\n`,
  },
  {
    name: 'many things wrong at once',
    words: apply,
    manifest:
      'apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{name: a, port: 0}, {name: a, port: 99999}]}\n',
    says: [
      'The Service "web" is invalid: ',
      '* spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
      '* spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive',
      '* spec.ports[1].name: Duplicate value: "a"',
      '* spec.ports[1].port: Invalid value: 99999: must be between 1 and 65535, inclusive',
      '* spec.ports[1].targetPort: Invalid value: 99999: must be between 1 and 65535, inclusive',
      '',
    ].join('\n'),
  },
  {
    name: 'a Pod without containers',
    words: apply,
    manifest: 'apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: []}\n',
    says: 'The Pod "x" is invalid: spec.containers: Required value\n',
  },
  {
    name: 'a namespace that is not there',
    words: [...apply, '-n', 'missing'],
    manifest: configMap('x'),
    says: `Error from server (NotFound): ${creating}namespaces "missing" not found\n`,
  },
  {
    name: 'an object above 3 MiB',
    words: ['create', '-f', 'manifest.yaml'],
    manifest: configMap('x', `data:\n  x: ${'y'.repeat(4 * 1024 * 1024)}\n`),
    says: `Error from server (RequestEntityTooLarge): ${creating}Request entity too large: limit is 3145728\n`,
  },
  {
    name: 'no name',
    words: ['create', '-f', 'manifest.yaml'],
    manifest: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n',
    says: 'The ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required\n',
  },
  {
    name: 'an object that is there already',
    words: ['create', '-f', 'manifest.yaml'],
    manifest: configMap('a'),
    says: `Error from server (AlreadyExists): ${creating}configmaps "a" already exists\n`,
  },
  {
    name: 'an update from an old version',
    words: ['replace', '-f', 'manifest.yaml'],
    manifest: configMap('a', '  resourceVersion: "1"\n'),
    says: 'Error from server (Conflict): error when replacing "manifest.yaml": Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again\n',
  },
  {
    name: 'a change of what is immutable',
    words: ['patch', 'deployment', 'web', '-p', '{"spec":{"selector":{"matchLabels":{"a":"b"}}}}'],
    says: 'The Deployment "web" is invalid: \n* spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`\n* spec.selector: Invalid value: {"matchLabels":{"a":"b","app":"web"}}: field is immutable\n',
  },
  {
    name: 'a patch that is none',
    words: ['patch', 'configmap', 'a', '-p', '{"data":'],
    says: 'Error from server (BadRequest): unexpected end of JSON input\n',
  },
  {
    name: 'a patch with a text where a map should be',
    words: ['patch', 'configmap', 'a', '-p', '{"data":"x"}'],
    says: 'The request is invalid: patch: Invalid value: "map[data:x]": cannot restore map from string\n',
  },
  {
    name: 'a merge patch with a text where a map should be',
    words: ['patch', 'configmap', 'a', '--type=merge', '-p', '{"data":"x"}'],
    says: /^The request is invalid: patch: Invalid value: "\{\\"apiVersion\\":\\"v1\\",\\"data\\":\\"x\\",\\"kind\\":\\"ConfigMap\\",\\"metadata\\":\{\\"name\\":\\"a\\",\\"namespace\\":\\"default\\",\\"uid\\":\\"[^"]*\\",\\"resourceVersion\\":\\"\d+\\",\\"creationTimestamp\\":\\"[^"]*\\",\\"managedFields\\":\[\{.*\}\]\}\}": json: cannot unmarshal string into Go struct field ConfigMap\.data of type map\[string\]string\n$/,
  },
  {
    name: 'a JSON patch to what is not there',
    words: ['patch', 'configmap', 'a', '--type=json', '-p', '[{"op":"remove","path":"/data/none"}]'],
    says: 'The request is invalid: the server rejected our request due to an error in our request\n',
  },
  {
    name: 'a resource that nobody knows',
    words: ['get', 'nonsense'],
    says: 'error: the server doesn\'t have a resource type "nonsense"\n',
  },
  {
    name: 'an object that is not there',
    words: ['get', 'configmap', 'none'],
    says: 'Error from server (NotFound): configmaps "none" not found\n',
  },
  {
    name: 'a label selector that is none',
    words: ['get', 'configmaps', '-l', 'a in ('],
    says: 'Error from server (BadRequest): Unable to find "/v1, Resource=configmaps" that match label selector "a in (", field selector "": unable to parse requirement: found \'\', expected: \',\', \')\' or identifier\n',
  },
  {
    name: 'a field selector for what cannot be selected',
    words: ['get', 'configmaps', '--field-selector', 'data.x=1'],
    says: 'Error from server (BadRequest): Unable to find "/v1, Resource=configmaps" that match label selector "", field selector "data.x=1": "data.x" is not a known field selector: only "metadata.name", "metadata.namespace"\n',
  },
  {
    name: 'the rights of somebody who has none',
    words: ['get', 'configmaps', '--as=nobody'],
    says: 'Error from server (Forbidden): configmaps is forbidden: User "nobody" cannot list resource "configmaps" in API group "" in the namespace "default"\n',
  },
];

const wanted = ['1.33', '1.36'];
const installed = kubectlReleases();
const releases = installed.filter(({ release }) => wanted.includes(release));

describe('broken manifests', needs('kubectl'), () => {
  let cluster: OpenCluster;
  let folder: string;
  before(async () => {
    cluster = await openCluster();
    folder = mkdtempSync(join(tmpdir(), 'coracle-manifests-'));
    writeFileSync(join(folder, 'kubeconfig'), cluster.controlPlane.adminKubeconfig());
    const client = cluster.controlPlane.admin;
    await client.create(configMaps, { metadata: { name: 'a', namespace: 'default' }, data: { x: '1' } });
    const labels = { app: 'web' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'example.com/web' }] } };
    await client.create(deployments, {
      metadata: { name: 'web', namespace: 'default' },
      spec: { replicas: 0, selector: { matchLabels: labels }, template },
    });
  });
  after(async () => {
    await cluster.close();
    rmSync(folder, { recursive: true, force: true });
  });

  for (const { release, path } of releases.length > 0 ? releases : installed.slice(-1)) {
    const run = (words: readonly string[], home = folder) => {
      const env = { PATH: process.env.PATH, HOME: home, KUBECONFIG: join(folder, 'kubeconfig') };
      return promisify(execFile)(path, words, { cwd: folder, env, timeout: 30_000 }).then(
        ({ stdout, stderr }) => stdout + stderr,
        (error: { readonly stdout: string; readonly stderr: string }) => error.stdout + error.stderr,
      );
    };

    for (const { name, words, manifest, says } of mistakes) {
      test(`kubectl ${release}: ${name}`, async () => {
        if (manifest !== undefined) writeFileSync(join(folder, 'manifest.yaml'), manifest);
        const said = await run(words);
        if (typeof says === 'string') assert.equal(said, says);
        else assert.match(said, says);
      });
    }

    test(`kubectl ${release}: credentials that nobody knows`, async () => {
      const stranger = ['--kubeconfig=/dev/null', '-s', cluster.url, '--insecure-skip-tls-verify'];
      assert.equal(
        await run([...stranger, '--token=nonsense', 'get', 'configmaps']),
        'error: You must be logged in to the server (Unauthorized)\n',
      );
    });

    test(`kubectl ${release}: after all that nothing is there that should not be`, async () => {
      const there = await run(['get', 'configmaps,services,pods', '-o', 'name']);
      assert.equal(there, 'configmap/a\nconfigmap/kube-root-ca.crt\nservice/kubernetes\n');
      assert.equal(await run(['get', 'configmap', 'a', '-o', 'jsonpath={.data}']), '{"x":"1"}');
    });
  }
});
