/** Documents that name a file name one that exists, and the page about dependencies names those that are used. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { importsOf, projectRoot, sourceFiles } from './source-files.ts';

const documents = [
  ...globSync('*.md', { cwd: projectRoot }),
  ...globSync('{docs,facts,bench}/**/*.md', { cwd: projectRoot }),
];
const textOf = (path: string) => readFileSync(join(projectRoot, path), 'utf8');
const exists = (pattern: string) => globSync(pattern, { cwd: projectRoot }).length > 0;
const roots = 'src|test|scripts|bench|examples|docs|facts';

test('paths in documents lead somewhere', () => {
  const offences = documents.flatMap((document) => {
    const text = textOf(document);
    const quoted = [...text.matchAll(new RegExp(`\`((?:${roots})/[\\w./*-]*)\``, 'g'))].map((match) => match[1]!);
    const linked = [...text.matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)].map((match) =>
      normalize(join(dirname(document), match[1]!)),
    );
    return [...quoted, ...linked].filter((path) => !exists(path)).map((path) => `${document}: ${path}`);
  });
  assert.deepEqual(offences, []);
});

test('files and folders are named as they are called, in the guides and in comments', () => {
  const every = globSync('{*,{src,test,scripts,bench,examples,docs,facts}/**/*}', { cwd: projectRoot });
  // By each end of a path: `cri-runtime.ts`, `cri/cri-runtime.ts`, `runtime/cri/cri-runtime.ts`.
  // By `npm run build`.
  const made = ['dist'];
  const ends = new Set(
    [...every, ...made].flatMap((path) => {
      const parts = path.split('/');
      return parts.map((_, i) => parts.slice(i).join('/'));
    }),
  );
  const nameOf = /`(?:\.{1,2}\/)*([\w.-]+(?:\/[\w.-]+)*(?:\.ts|\.md|\/))`/g;
  const guides = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md'].map((path) => ({ path, texts: [textOf(path)] }));
  const sources = ['src', 'test', 'scripts', 'bench'].flatMap(sourceFiles).map(({ path, text }) => ({
    path,
    texts: [...text.matchAll(/\/\*[\s\S]*?\*\/|(?<=^\s*)\/\/.*/gm)].map(([comment]) => comment),
  }));
  const namedIn = ({ path, texts }: (typeof guides)[number]) =>
    texts.flatMap((text) => [...text.matchAll(nameOf)].map(([, name = '']) => ({ path, name })));
  // What ends in a slash in a comment is as often a prefix of something else.
  const named = [...guides.flatMap(namedIn), ...sources.flatMap(namedIn).filter(({ name }) => !name.endsWith('/'))];
  assert.ok(named.length > 300);
  const offences = named
    .filter(({ name }) => !ends.has(name.replace(/\/$/, '')))
    .map(({ path, name }) => `${path}: ${name}`);
  assert.deepEqual(offences, []);
});

test('commands of npm and suites of tests that documents name exist, and every suite is named', () => {
  const { scripts } = JSON.parse(textOf('package.json')) as { readonly scripts: Readonly<Record<string, string>> };
  const runner = textOf('scripts/test.ts');
  const suites = new Set([
    'check',
    ...[...runner.matchAll(/\bname: '([\w-]+)'/g)].map(([, name]) => name!),
    ...[...runner.matchAll(/onContainerd\('([\w.]+)'/g)].map(([, release]) => `containerd-${release}`),
  ]);
  const offences = documents.flatMap((document) => {
    const text = textOf(document);
    const commands = [...text.matchAll(/npm run ([\w-]+)/g)].filter(([, name = '']) => !scripts[name]);
    const runs = [...text.matchAll(/node scripts\/test\.ts ([a-z][\w.-]*\w)/g)].filter(
      ([, name = '']) => !suites.has(name),
    );
    return [...commands, ...runs].map(([command]) => `${document}: ${command}`);
  });
  assert.deepEqual(offences, []);
  const contributing = textOf('CONTRIBUTING.md');
  assert.deepEqual(
    [...suites].filter((name) => !contributing.includes(`\`${name}\``)),
    [],
  );
});

test('what stands is proven by tests: a row that claims something names their files, no folders', () => {
  const rows = textOf('docs/features.md')
    .split('\n')
    .filter((line) => /^\| [A-Z]\d/.test(line))
    .map((line) => line.split(' | '));
  assert.ok(rows.length > 50);
  const offences = rows.flatMap(([id = '', , state = '', proof = '']) => {
    const named = [...proof.matchAll(/`((?:src|test|examples)\/[^`]*)`/g)].map((match) => match[1]!);
    const others = named.filter((path) => !path.endsWith('.test.ts'));
    const isClaim = !state.startsWith('not yet');
    return isClaim && (named.length === 0 || others.length > 0) ? [`${id}: ${others.join(', ') || 'no test'}`] : [];
  });
  assert.deepEqual(offences, []);
});

/** Titles as they stand in the source, made ones with their places left open. */
function namesOfTests(text: string): readonly string[] {
  return [...text.matchAll(/\b(?:it|test|describe|conformance)\(\s*(['"`])([\s\S]*?)\1/g)].map((match) => match[2]!);
}

test('each demand of the documents is shown by tests that are there, under the names that they have', () => {
  const rows = textOf('docs/documents.md')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| what is demanded'));
  assert.ok(rows.length > 60);
  const offences = rows.flatMap((row) => {
    const proof = row.split(' | ')[1] ?? '';
    const files = proof.split(/(?=`(?:src|test|examples)\/)/).filter((part) => part.startsWith('`'));
    if (files.length === 0) return [`no test: ${row}`];
    return files.flatMap((part) => {
      const path = /^`([^`]+)`/.exec(part)![1]!;
      if (!path.endsWith('.test.ts')) return [`${path} is no test`];
      const text = textOf(path);
      return [...part.matchAll(/"([^"]+)"/g)]
        .filter(([, name]) => !namesOfTests(text).some((of) => of.includes(name!)))
        .map(([, name]) => `${path} has no test "${name}"`);
    });
  });
  assert.deepEqual(offences, []);
});

test('every folder of more than three sources says where to begin: by a file of its name, or in ARCHITECTURE.md', () => {
  const rows = textOf('ARCHITECTURE.md').matchAll(/^\| `([\w/-]+)\/` \| `([\w./-]+\.ts)` \|/gm);
  const told = new Map([...rows].map(([, folder, file]) => [folder!, file!]));
  const files = new Map<string, string[]>();
  for (const { path } of sourceFiles('src')) {
    const folder = dirname(path).slice('src/'.length);
    if (/\.(test|fixture|contract)\.ts$/.test(path) || /(^|\/)gen$|^api\//.test(folder)) continue;
    files.set(folder, [...(files.get(folder) ?? []), basename(path, '.ts')]);
  }
  const offences = [...files].filter(([folder, names]) => {
    const name = basename(folder);
    const own = [
      name,
      name.replace(/s$/, ''),
      `${name}-controller`,
      `${name}-server`,
      `${name}-store`,
      'index',
      'main',
    ];
    return names.length > 3 && !own.some((file) => names.includes(file)) && !told.has(folder);
  });
  assert.deepEqual(offences, []);
  const gone = [...told].filter(([folder, file]) => !exists(join('src', folder, file)));
  assert.deepEqual(gone, []);
});

test('every package that is imported is a dependency with a line in ADR 2, and every line there is a dependency', () => {
  const { dependencies, optionalDependencies, devDependencies } = JSON.parse(textOf('package.json'));
  const declared = new Set(Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies }));
  const adr = textOf('docs/adr/0002-dependencies.md');
  const namesIn = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]!);
  const cells = [...adr.matchAll(/^\|(.*?)\|/gm)].map(([, cell]) => cell!);
  const named = cells.flatMap(namesIn);
  const forDevelopment = cells.filter((cell) => cell.includes('development:')).flatMap(namesIn);
  const imported = new Set(
    ['src', 'test', 'scripts', 'bench', 'examples']
      .flatMap(sourceFiles)
      .flatMap(importsOf)
      .filter(({ specifier }) => /^[@a-z]/.test(specifier) && !/^(node:|coracle)/.test(specifier))
      .map(({ specifier }) =>
        specifier
          .split('/')
          .slice(0, specifier.startsWith('@') ? 2 : 1)
          .join('/'),
      ),
  );
  assert.ok(imported.size > 5);
  assert.deepEqual(
    [...imported].filter((name) => !declared.has(name) || !named.includes(name)),
    [],
  );
  assert.deepEqual(
    named.filter((name) => !name.endsWith('*') && !declared.has(name)),
    [],
  );
  const concrete = new Set(named.filter((name) => !name.endsWith('*')));
  const isDevelopment = (name: string) => Object.hasOwn(devDependencies, name);
  assert.deepEqual(
    [...concrete].filter((name) => isDevelopment(name) !== forDevelopment.includes(name)),
    [],
  );
});
