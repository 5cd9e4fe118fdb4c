/**
 * Which folder may import which: components meet only through the API, and the import graph proves it. The table is
 * ARCHITECTURE.md's; type-only imports count like any other.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importsOf, sourceFiles } from './source-files.ts';

const foundation = ['base', 'apimachinery'];
const sdk = ['client', 'api', 'pki', ...foundation];
const component = ['reconcile', 'serving', ...sdk];

/** For each folder of src/, what it may import besides itself. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  base: [],
  apimachinery: ['base'],
  api: foundation,
  storage: ['base'],
  pki: ['base'],
  client: ['api', 'pki', ...foundation],
  reconcile: sdk,
  serving: sdk,
  apiserver: ['storage', ...component],
  controllers: component,
  scheduler: component,
  kubelet: component,
  proxy: component,
  dns: component,
  cli: ['reconcile', ...sdk, 'cluster', 'sim'],
  cluster: ['apiserver', 'storage', 'controllers', 'scheduler', 'kubelet', 'proxy', 'dns', ...component],
};

/** May import everything, and are themselves imported by tests alone; the simulator by its own command too. */
const testOnly = ['testing', 'sim'];

const folderOf = (path: string) => (path.startsWith('src/') ? path.split('/')[1] : undefined);
const isTest = (path: string) => /\.(test|contract|fixture)\.ts$/.test(path);

test('each folder imports only what the layers allow', () => {
  const offences: string[] = [];
  for (const file of sourceFiles('src')) {
    const folder = folderOf(file.path);
    if (folder === undefined || file.path.split('/').length < 3 || isTest(file.path) || testOnly.includes(folder))
      continue;
    const may = allowed[folder];
    if (!may) {
      offences.push(`${file.path}: folder src/${folder} has no row in test/layers.test.ts`);
      continue;
    }
    for (const { target, specifier } of importsOf(file)) {
      const to = target && folderOf(target);
      if (!to || to === folder || may.includes(to)) continue;
      offences.push(`${file.path} imports ${specifier}: src/${folder} may not import src/${to}`);
    }
  }
  assert.deepEqual(offences, []);
});

test('controllers do not import one another, except for what their family shares', () => {
  const offences: string[] = [];
  for (const file of sourceFiles('src/controllers')) {
    const [, , own, rest] = file.path.split('/');
    if (rest === undefined || isTest(file.path)) continue;
    for (const { target } of importsOf(file)) {
      const [, area, other, inside] = target?.split('/') ?? [];
      if (area !== 'controllers' || inside === undefined || other === own || other === 'common' || other === 'gen')
        continue;
      offences.push(`${file.path} imports ${target}`);
    }
  }
  assert.deepEqual(offences, []);
});

/** Rooms of a folder in their order: each imports only those before it; rooms of one rank know nothing of each other. */
const rooms: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'src/cluster': [
    ['machine', 'certificates'],
    ['processes'],
    ['data'],
    ['node'],
    ['control-plane'],
    ['components'],
    ['kubeconfigs'],
    ['joining'],
    ['local-nodes'],
    ['up'],
  ],
  'src/cluster/components': [['flags'], ['secure-port'], ['kube-apiserver', 'kubelet']],
};

test('rooms import only rooms before them', () => {
  const offences: string[] = [];
  for (const [folder, ranks] of Object.entries(rooms)) {
    const roomOf = (path = '') => {
      const [name = '', inside] = path.startsWith(`${folder}/`) ? path.slice(folder.length + 1).split('/') : [];
      return inside === undefined || name === 'gen' ? undefined : name;
    };
    const rankOf = (room: string) => ranks.findIndex((rank) => rank.includes(room));
    for (const file of sourceFiles(folder)) {
      const own = roomOf(file.path);
      if (own === undefined || isTest(file.path)) continue;
      if (rankOf(own) < 0) offences.push(`${file.path}: room ${own} has no place in test/layers.test.ts`);
      for (const { target } of importsOf(file)) {
        const other = roomOf(target);
        if (other !== undefined && other !== own && rankOf(other) >= rankOf(own))
          offences.push(`${file.path} imports ${target}`);
      }
    }
  }
  assert.deepEqual(offences, []);
});

/** Circles that there are, each with its reason. None may come to them. */
const knownCircles: readonly (readonly string[])[] = [
  // A type of the expression language says how JSON becomes its values, and values know their types.
  ['src/apimachinery/cel/types.ts', 'src/apimachinery/cel/values.ts'],
];

test('files import one another in no circle, for their types neither', () => {
  const imports = new Map(
    sourceFiles('src').map((file) => [file.path, importsOf(file).flatMap(({ target }) => target ?? [])]),
  );
  assert.deepEqual(circlesOf(imports), knownCircles);
});

test('a circle is found, however long it is, and what only leads into it is no part of it', () => {
  const imports = new Map([
    ['a', ['b']],
    ['b', ['c', 'd']],
    ['c', ['e']],
    ['d', ['a']],
    ['e', []],
    ['f', ['f']],
  ]);
  assert.deepEqual(circlesOf(imports), [['a', 'b', 'd'], ['f']]);
});

test('every imported file exists and ends in .ts', () => {
  const known = new Set(
    [...sourceFiles('src'), ...sourceFiles('test'), ...sourceFiles('scripts')].map((file) => file.path),
  );
  const offences: string[] = [];
  for (const file of sourceFiles('src')) {
    for (const { target, specifier } of importsOf(file)) {
      if (target !== undefined && !target.endsWith('.json') && !known.has(target))
        offences.push(`${file.path} imports ${specifier}`);
    }
  }
  assert.deepEqual(offences, []);
});

/** Files of which each leads to each of the others, by Tarjan's algorithm; sorted. */
function circlesOf(imports: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const circles: string[][] = [];
  const order = new Map<string, number>();
  const path: string[] = [];
  const onPath = new Set<string>();
  /** Gives the earliest file that this one leads back to. */
  const visit = (file: string): number => {
    const own = order.size;
    order.set(file, own);
    path.push(file);
    onPath.add(file);
    let earliest = own;
    for (const target of imports.get(file) ?? []) {
      if (!order.has(target)) earliest = Math.min(earliest, visit(target));
      else if (onPath.has(target)) earliest = Math.min(earliest, order.get(target)!);
    }
    if (earliest === own) {
      const circle = path.splice(path.indexOf(file));
      for (const each of circle) onPath.delete(each);
      if (circle.length > 1 || imports.get(file)?.includes(file)) circles.push(circle.sort());
    }
    return earliest;
  };
  for (const file of imports.keys()) if (!order.has(file)) visit(file);
  return circles.sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
}
