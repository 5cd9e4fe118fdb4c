/**
 * What hundreds of CustomResourceDefinitions cost, in processor time, since the machine is shared: until 500 of them are established and
 * served, what they take of memory, how large discovery becomes, and what a change of one costs the documents of all. Besides: creating and
 * listing custom objects beside ConfigMaps of the same size, as a ratio, for nothing but a schema is between them.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { customResourceDefinitions } from '../src/api/gen/apiextensions-v1.ts';
import { configMaps } from '../src/api/gen/core-v1.ts';
import { isConditionTrue } from '../src/apimachinery/conditions.ts';
import type { KubeObject } from '../src/apimachinery/meta.ts';
import { customResource, type ResourceType } from '../src/apimachinery/resource.ts';
import { startControlPlane } from '../src/testing/index.ts';
import { median, print, rounded, say } from './parts/figure.ts';

const definitions = 500;
const objects = 2000;
const rounds = 5;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

async function processorMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function megabytes(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1024 / 1024;
}

const text = { type: 'string', description: 'A line of text.' };
const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        ...Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`field${index}`, text])),
        replicas: { type: 'integer', minimum: 0 },
        data: { type: 'object', additionalProperties: { type: 'string' } },
      },
    },
    status: { type: 'object', properties: { phase: text } },
  },
};

function definition(number: number): KubeObject {
  const [plural, group] = [`things${number}`, `g${number % 50}.example.com`];
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: schema },
    subresources: { status: {} },
  };
  const names = { plural, singular: `thing${number}`, kind: `Thing${number}`, listKind: `Thing${number}List` };
  return {
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: 'Namespaced', names, versions: [version] },
  } as KubeObject;
}

await using cluster = await startControlPlane({ scheduler: false });
const { client } = cluster;
const read = async (path: string, accept = 'application/json') => {
  const answer = await client.raw({ method: 'GET', path, accept });
  return Buffer.byteLength(typeof answer === 'string' ? answer : JSON.stringify(answer));
};

const emptyMb = megabytes();
const { resourceVersion } = await client.list(customResourceDefinitions);
const servedMs = await processorMs(async () => {
  const established = (async () => {
    const names = new Set<string>();
    for await (const event of client.watch(customResourceDefinitions, { resourceVersion })) {
      if (event.type === 'BOOKMARK') continue;
      if (isConditionTrue(event.object.status?.conditions, 'Established')) names.add(event.object.metadata.name ?? '');
      if (names.size === definitions) return;
    }
  })();
  for (let number = 0; number < definitions; number++) {
    await client.create(customResourceDefinitions as unknown as ResourceType<KubeObject>, definition(number));
  }
  await established;
});
const perDefinitionKb = ((megabytes() - emptyMb) * 1024) / definitions;
say(`${definitions} definitions served after ${rounded(servedMs)} ms of processor time`);

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const discoveryKb = (await read('/apis', aggregated)) / 1024;
const firstIndexMs = await processorMs(() => read('/openapi/v3'));
const changed = 'things7.g7.example.com';
const indexMs: number[] = [];
for (let round = 0; round < rounds; round++) {
  const versions = [
    { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { ...schema, title: `round ${round}` } } },
  ];
  await client.patch(customResourceDefinitions, { name: changed }, { type: 'merge', body: { spec: { versions } } });
  indexMs.push(await processorMs(() => read('/openapi/v3')));
}
say(`index of OpenAPI documents: first ${rounded(firstIndexMs)} ms, after a change ${rounded(median(indexMs))} ms`);

const things = customResource<KubeObject>(
  { group: 'g1.example.com', version: 'v1', kind: 'Thing1' },
  { resource: 'things1', namespaced: true },
);
const data = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`key${index}`, 'x'.repeat(50)]));

async function createAndList(
  type: ResourceType<KubeObject>,
  rest: object,
): Promise<{ readonly create: number; readonly list: number }> {
  const names = Array.from({ length: objects }, (_, index) => `o${index}`);
  const create = await processorMs(async () => {
    for (const name of names) await client.create(type, { metadata: { namespace: 'default', name }, ...rest });
  });
  const list = await processorMs(() => client.list(type, { namespace: 'default' }));
  await client.deleteCollection(type, { namespace: 'default' });
  return { create: (create * 1000) / objects, list };
}

const custom: Awaited<ReturnType<typeof createAndList>>[] = [];
const builtin: typeof custom = [];
for (let round = 0; round < rounds; round++) {
  custom.push(await createAndList(things, { spec: { replicas: 1, data } }));
  builtin.push(await createAndList(configMaps as unknown as ResourceType<KubeObject>, { data }));
}
const ratioOf = (step: 'create' | 'list') =>
  rounded(median(custom.map((round, index) => round[step] / builtin[index]![step])));
print({
  name: 'custom-resources',
  what: 'processor time until one of 500 new CustomResourceDefinitions is served',
  figure: servedMs / definitions,
  unit: 'ms',
  better: 'lower',
  note: `${rounded(perDefinitionKb)} KB of memory each; discovery of all groups ${rounded(discoveryKb)} KB; index of OpenAPI documents ${rounded(firstIndexMs)} ms, after a change of one definition ${rounded(median(indexMs))} ms; a custom object against a ConfigMap: creation ${ratioOf('create')}, list ${ratioOf('list')} times the processor time`,
  details: {
    createMicroseconds: {
      custom: rounded(median(custom.map(({ create }) => create))),
      configMap: rounded(median(builtin.map(({ create }) => create))),
    },
    listMs: {
      custom: rounded(median(custom.map(({ list }) => list))),
      configMap: rounded(median(builtin.map(({ list }) => list))),
    },
  },
});
process.exit();
