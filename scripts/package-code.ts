/**
 * The sources as JavaScript for every Node.js that the package allows, in few files: a start is mostly the loading of files. What is
 * loaded on first use stays in files of its own, in the groups of `chunkOf`.
 *
 * What the sources find by name at run time (tables, a thread's program, what `loaderFrom` loads) lies in the package as it lies in `src/`, and
 * `import.meta` tells a module where it would lie, whichever file carries its code.
 */
import { globSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';

/** The oldest Node.js in `engines`. */
const oldest = 'node22.18';

/** Started by their path. */
const threads = ['apiserver/encoding/yaml-worker.ts'];

/**
 * What is loaded together is one file: in this order, these modules with all that they import statically and no file before holds. Patterns of
 * paths in the sources.
 */
const closures: readonly (readonly [chunk: string, roots: readonly string[]])[] = [
  // Before the compile cache is on, so next to nothing.
  ['loading', ['base/own-imports.ts', 'cluster/command-error.ts']],
  ['sdk', ['client/index.ts', 'reconcile/index.ts']],
  [
    'start',
    [
      'testing/embedded.ts',
      // What a Deployment's Pods wait for.
      'controllers/deployment/deployment-controller.ts',
      'controllers/replicaset/replicaset-controller.ts',
      'controllers/serviceaccount/serviceaccount-controller.ts',
      'api/core/v1/workload-warnings.ts',
    ],
  ],
  // What every control plane starts a moment later.
  [
    'background',
    [
      'controllers/*/*-controller.ts',
      'scheduler/scheduler.ts',
      // Its Services and APIServices.
      'api/core/v1/address-warnings.ts',
      'api/apiregistration/v1/api-service.ts',
      'apiserver/aggregation/aggregation.ts',
      'apiserver/debug/debug-pages.ts',
      'apiserver/discovery/discovery.ts',
      'apiserver/flow-control/start.ts',
      'apiserver/issuer-discovery.ts',
      'apiserver/registry/patch.ts',
      'apiserver/services/{address-repair,service-allocator}.ts',
    ],
  ],
];

/** And of what is left, these folders. */
const folders: readonly (readonly [chunk: string, pattern: RegExp])[] = [
  ['kinds', /^api\/gen\//],
  ['other-kinds', /^api\//],
  ['node', /^(kubelet|proxy|dns)\//],
  ['expressions', /^apimachinery\/(cel|structural-schema)\//],
];

type Imports = (id: string) => readonly string[];

/** Writes every module of `entries` (paths in `sources`) to the same place in `target`. */
export async function writeCode(sources: string, target: string, entries: readonly string[]): Promise<void> {
  const bundle = await rolldown({
    input: Object.fromEntries([...entries, ...threads].map((file) => [nameOf(file), join(sources, file)])),
    platform: 'node',
    // But for Rolldown's own helpers.
    external: (id) => !/^[./\0]|^@oxc-project\/runtime/.test(id),
    plugins: [places(sources)],
    transform: { target: oldest },
    preserveEntrySignatures: 'allow-extension',
    onLog(level, log, handle) {
      // A module that one imports at once and another on first use: the sources know.
      if (log.code !== 'INEFFECTIVE_DYNAMIC_IMPORT') handle(level === 'warn' ? 'error' : level, log);
    },
  });
  const chunkOf = chunks(sources);
  await bundle.write({
    dir: target,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name].js',
    banner: ({ fileName }) => (fileName === 'cli/main.js' ? '#!/usr/bin/env node' : ''),
    sourcemap: true,
    sourcemapExcludeSources: true,
    // As if the sources lay in the package, so that a stack names `node_modules/coracle/src/...`.
    sourcemapPathTransform: (path, map) =>
      relative(dirname(map), join(target, 'src', relative(sources, join(dirname(map), path)))),
    comments: { legal: true, annotation: false, jsdoc: false },
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [
        {
          debugName: 'chunkOf',
          name: (id, context) => chunkOf(id, (of) => context.getModuleInfo(of)?.importedIds ?? []),
        },
      ],
    },
  });
  await bundle.close();
}

const nameOf = (file: string) => file.replace(/\.ts$/, '');

/** Into which file a module goes; null leaves it to the bundler, which puts together what is always loaded together. */
function chunks(sources: string): (id: string, importsOf: Imports) => string | null {
  const inChunk = new Map<string, string>([[ownPlace, 'place']]);
  const collect = (chunk: string, id: string, importsOf: Imports): void => {
    if (inChunk.has(id)) return;
    inChunk.set(id, chunk);
    for (const imported of importsOf(id)) collect(chunk, imported, importsOf);
  };
  const filesOf = (pattern: string): string[] => {
    const files = globSync(pattern, { cwd: sources }).sort();
    if (files.length === 0) throw new Error(`no source is called ${pattern}, which has its place in the package`);
    return files;
  };
  return (id, importsOf) => {
    if (inChunk.size === 1)
      for (const [chunk, roots] of closures)
        for (const file of roots.flatMap(filesOf)) collect(chunk, join(sources, file), importsOf);
    const path = relative(sources, id);
    return inChunk.get(id) ?? folders.find(([, pattern]) => pattern.test(path))?.[0] ?? null;
  };
}

/** A module that exists in the package alone, in a file of its own in `chunks/`: so it knows where the package is. */
const ownPlace = '\0own-place';
const ownPlaceCode = `
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
export const urlOf = (file) => new URL('../' + file, import.meta.url).href;
export const folderOf = (file) => dirname(fileURLToPath(urlOf(file)));
`;

/** Tells modules their own places, and makes a file of each module that `loaderFrom` may be asked for. */
function places(sources: string): Plugin {
  return {
    name: 'places',
    resolveId: (id) => (id === ownPlace ? id : undefined),
    load: (id) => (id === ownPlace ? ownPlaceCode : undefined),
    transform(code, id) {
      const file = relative(sources, id);
      if (file.startsWith('..') || !code.includes('import.meta.')) return undefined;
      if (code.includes('loaderFrom(import.meta.url)'))
        for (const loaded of new Set(code.match(/(?<!(?:from |import\()')(?<=')[\w./-]+\.ts(?=')/g))) {
          const path = join(dirname(file), loaded);
          this.emitFile({ type: 'chunk', id: join(sources, path), fileName: `${nameOf(path)}.js` });
        }
      const place = JSON.stringify(`${nameOf(file)}.js`);
      const told = code
        .replaceAll('import.meta.url', `__urlOf(${place})`)
        .replaceAll('import.meta.dirname', `__folderOf(${place})`);
      // On the first line, so that lines keep their numbers.
      return {
        code: `import { urlOf as __urlOf, folderOf as __folderOf } from '${ownPlace}'; ${told}`,
        map: null,
      };
    },
  };
}
