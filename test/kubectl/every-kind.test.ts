/**
 * What kubectl learns from discovery and OpenAPI of a whole server, in the oldest and the newest release found: every kind explained to its
 * last field, strict validation, and dry runs of every verb, none of which leaves a trace.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { customResourceDefinitions } from '../../src/api/gen/apiextensions-v1.ts';
import { configMaps } from '../../src/api/gen/core-v1.ts';
import { builtinResources } from '../../src/api/schema.ts';
import { apiVersionOf } from '../../src/apimachinery/resource.ts';
import { type EmbeddedControlPlane, startControlPlane } from '../../src/testing/index.ts';
import { kubectlReleases } from '../../src/testing/kubectl.ts';
import { needs } from '../../src/testing/needs.ts';

const found = kubectlReleases();
const releases = found.length > 1 ? [found[0]!, found.at(-1)!] : found;

/** How many kubectls at a time. */
const workers = 3;

interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const definition = {
  metadata: { name: 'boats.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced' as const,
    names: { plural: 'boats', singular: 'boat', kind: 'Boat', listKind: 'BoatList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'A boat for one person.',
            properties: {
              spec: {
                type: 'object',
                description: 'How it is built.',
                properties: { oars: { type: 'integer', description: 'How many oars it has.' } },
              },
            },
          },
        },
      },
    ],
  },
};

describe('kubectl and every kind', needs('kubectl'), () => {
  let cluster: EmbeddedControlPlane;
  const folder = mkdtempSync(join(tmpdir(), 'coracle-kinds-'));
  const kubeconfig = join(folder, 'kubeconfig');
  before(async () => {
    cluster = await startControlPlane();
    writeFileSync(kubeconfig, cluster.kubeconfig);
    await cluster.client.create(customResourceDefinitions, definition);
    const established = {
      fieldSelector: `metadata.name=${definition.metadata.name}`,
      signal: AbortSignal.timeout(30_000),
    };
    for await (const event of cluster.client.watch(customResourceDefinitions, established)) {
      if (event.type === 'BOOKMARK') continue;
      const conditions = event.object.status?.conditions ?? [];
      if (conditions.some(({ type, status }) => type === 'Established' && status === 'True')) break;
    }
  });
  after(async () => {
    await cluster.stop();
    rmSync(folder, { recursive: true });
  });

  for (const { release, path } of releases) {
    describe(release, () => {
      const home = join(folder, release);
      mkdirSync(home);
      const run = (...words: string[]): Promise<Answer> =>
        new Promise((resolve) => {
          const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: home };
          execFile(path, words, { env, maxBuffer: 2 ** 24 }, (error, stdout, stderr) => {
            resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr });
          });
        });
      const succeed = async (...words: string[]): Promise<string> => {
        const { code, stdout, stderr } = await run(...words);
        assert.equal(code, 0, `${words.join(' ')}: ${stderr}`);
        return stdout;
      };
      const file = (name: string, text: string): string => {
        const at = join(home, name);
        writeFileSync(at, text);
        return at;
      };

      test('api-resources lists them all, with verbs and categories', async () => {
        const lines = (await succeed('api-resources', '-o', 'wide')).split('\n');
        const line = (name: string, version: string) =>
          lines.find((text) => text.startsWith(`${name} `) && text.includes(` ${version} `)) ?? '';
        assert.match(line('deployments', 'apps/v1'), /true +Deployment +create,delete,deletecollection,get,.* all *$/);
        assert.match(
          line('boats', 'example.com/v1'),
          /true +Boat +delete,deletecollection,get,list,patch,create,update,watch/,
        );
        for (const row of builtinResources().filter(({ enabledByDefault }) => enabledByDefault)) {
          if (row.group === 'autoscaling' && row.version === 'v1') continue;
          assert.notEqual(line(row.resource, apiVersionOf(row)), '', `${apiVersionOf(row)} ${row.resource}`);
        }
      });

      test('explain knows every field of every kind, and says what it is', async () => {
        const kinds = [
          ...builtinResources().filter((row) => row.enabledByDefault && row.gate === undefined),
          { group: 'example.com', version: 'v1', resource: 'boats', kind: 'Boat' },
        ].values();
        let explained = 0;
        const work = async () => {
          for (const row of kinds) {
            const words = ['explain', row.resource, '--recursive', `--api-version=${apiVersionOf(row)}`];
            const text = await succeed(...words);
            assert.match(text, new RegExp(`^KIND: +${row.kind}$`, 'm'), words.join(' '));
            assert.doesNotMatch(text, /<empty>/, words.join(' '));
            assert.match(text, /\n {2,}\w+\t<.+>/, words.join(' '));
            explained++;
          }
        };
        await Promise.all(Array.from({ length: workers }, work));
        assert.ok(explained > 60, String(explained));
        assert.match(await succeed('explain', 'boat.spec.oars'), /oars <integer>\n[\s\S]*How many oars it has\./);
      });

      test('strict validation refuses what is unknown or said twice, by every verb that writes', async () => {
        const pod = (more: string) =>
          file(
            'pod.yaml',
            `apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: a, image: b}]\n${more}`,
          );
        const unknown = pod('  oars: 2\n');
        for (const verb of ['create', 'apply'] as const) {
          const { code, stderr } = await run(verb, '--validate=strict', '-f', unknown);
          assert.equal(code, 1);
          assert.match(stderr, /strict decoding error: unknown field "spec.oars"/);
        }
        const warned = await run('create', '--validate=warn', '--dry-run=server', '-f', unknown);
        assert.match(warned.stderr, /Warning: unknown field "spec.oars"/);
        const ignored = await run('create', '--validate=ignore', '--dry-run=server', '-f', unknown);
        assert.deepEqual([ignored.code, ignored.stderr], [0, '']);
        const boat = file(
          'boat.yaml',
          'apiVersion: example.com/v1\nkind: Boat\nmetadata: {name: a}\nspec: {oars: 2, sails: 1}\n',
        );
        assert.match((await run('create', '--validate=strict', '-f', boat)).stderr, /unknown field "spec.sails"/);
      });

      test('a dry run of any verb tells what it would do and does nothing', async () => {
        const name = `dry-${release.replace('.', '-')}`;
        const manifest = (value: string) =>
          file('map.yaml', `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {a: "${value}"}\n`);
        const dry = (...words: string[]) => succeed(...words, '--dry-run=server');
        assert.match(await dry('create', '-f', manifest('1')), /created \(server dry run\)/);
        assert.match(await dry('apply', '-f', manifest('1')), /created \(server dry run\)/);
        assert.match(await dry('apply', '--server-side', '-f', manifest('1')), /serverside-applied \(server dry run\)/);
        await succeed('create', '-f', manifest('1'));
        const before = await cluster.client.get(configMaps, { namespace: 'default', name });
        await dry('apply', '-f', manifest('2'));
        await dry('replace', '-f', manifest('2'));
        const merge = JSON.stringify({ data: { a: '2' } });
        for (const type of ['merge', 'strategic']) {
          await dry('patch', 'configmap', name, `--type=${type}`, '-p', merge);
        }
        const replace = JSON.stringify([{ op: 'replace', path: '/data/a', value: '2' }]);
        assert.match(await dry('patch', 'configmap', name, '--type=json', '-p', replace), /patched/);
        await dry('label', 'configmap', name, 'a=b');
        await dry('annotate', 'configmap', name, 'a=b');
        await dry('delete', 'configmap', name);
        assert.deepEqual(await cluster.client.get(configMaps, { namespace: 'default', name }), before);
        const { code, stdout } = await run('diff', '-f', manifest('2'));
        assert.equal(code, 1);
        assert.match(stdout, /-\s+a: "1"\n\+\s+a: "2"/);
        assert.equal((await run('diff', '-f', manifest('1'))).stdout.includes('a: "2"'), false);
      });
    });
  }
});
