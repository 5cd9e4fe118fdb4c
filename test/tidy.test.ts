/**
 * The house rules that a machine can check (CONTRIBUTING.md): time and chance only as arguments, no mutable module state, files
 * of readable length with a module comment, no dead files, no stray notes.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { codeOf, type ExportedFunction, exportedFunctions, importsOf, sourceFiles } from './source-files.ts';

const isGenerated = (path: string) => path.includes('/gen/');
const isTest = (path: string) => /\.(test|contract|fixture)\.ts$/.test(path);
const sources = sourceFiles('src').filter((file) => !isGenerated(file.path));
const product = sources.filter((file) => !isTest(file.path) && !file.path.startsWith('src/testing/'));

const forbidden: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  { pattern: /\bDate\.now\b/, instead: 'clock.now()' },
  { pattern: /\bnew Date\(\s*\)/, instead: 'new Date(clock.now())' },
  { pattern: /\bperformance\.now\b/, instead: 'clock.monotonic()' },
  { pattern: /(?<![.\w])(setTimeout|setInterval|setImmediate)\(/, instead: 'clock.after() or clock.soon()' },
  { pattern: /\bprocess\.nextTick\b|(?<![.\w])nextTick\(/, instead: 'queueMicrotask() or clock.soon()' },
  { pattern: /timers\/promises/, instead: 'sleep() of base/clock.ts' },
  { pattern: /\bAbortSignal\.timeout\b/, instead: 'a timer of the clock that aborts' },
  { pattern: /\bMath\.random\b/, instead: 'random.next()' },
  { pattern: /\brandomUUID\b|\brandomBytes\b/, instead: 'random.uuid() or random.bytes()' },
  { pattern: /\bWeakRef\b|\bFinalizationRegistry\b/, instead: 'explicit ownership' },
];

test('outside base/ time, timers and chance are arguments', () => {
  const offences: string[] = [];
  for (const file of product) {
    if (file.path.startsWith('src/base/')) continue;
    const lines = codeOf(file.text).split('\n');
    lines.forEach((line, index) => {
      for (const rule of forbidden)
        if (rule.pattern.test(line)) offences.push(`${file.path}:${index + 1}: use ${rule.instead}`);
    });
  }
  assert.deepEqual(offences, []);
});

test('argv and the environment are read in the composition root alone', () => {
  const offences = product
    .filter((file) => !file.path.startsWith('src/cluster/') && file.path !== 'src/cli/main.ts')
    .filter((file) => /\bprocess\.(argv|env)\b/.test(codeOf(file.text)))
    .map((file) => file.path);
  assert.deepEqual(offences, []);
});

test('properties are tried under a seed that is the same each time', () => {
  const offences = ['src', 'test', 'examples']
    .flatMap(sourceFiles)
    .filter((file) => importsOf(file).some(({ specifier }) => specifier === 'fast-check'))
    .map((file) => file.path);
  assert.deepEqual(offences, ['src/testing/properties.fixture.ts']);
});

test('no module holds mutable state', () => {
  const offences: string[] = [];
  for (const file of product) {
    codeOf(file.text)
      .split('\n')
      .forEach((line, index) => {
        if (/^(export\s+)?(let|var)\s/.test(line)) offences.push(`${file.path}:${index + 1}: ${line.trim()}`);
      });
  }
  assert.deepEqual(offences, []);
});

test('files begin by saying what they are', () => {
  const offences = product
    .filter((file) => !file.text.startsWith('/**') && !file.text.startsWith('#!'))
    .map((file) => file.path);
  assert.deepEqual(offences, []);
});

test('no file is longer than 800 lines, and one over 500 says why', () => {
  const offences: string[] = [];
  for (const file of sources) {
    const lines = file.text.split('\n').length - 1;
    if (lines > 800) offences.push(`${file.path}: ${lines} lines`);
    else if (lines > 500 && !isTest(file.path) && !/Length:/.test(file.text.slice(0, 4000)))
      offences.push(`${file.path}: ${lines} lines, and no "Length:" sentence in its module comment`);
  }
  assert.deepEqual(offences, []);
});

test('no function of the product is longer than 70 lines', () => {
  const opening =
    /^(| {2})(?:export |async |static |default |get |set |\*)*(?:function\b.*|#?\w+(?:<.*>)?\(.*\{|#?\w+(?:<.*>)?\()$/;
  const offences: string[] = [];
  for (const file of product) {
    const lines = codeOf(file.text).split('\n');
    lines.forEach((line, start) => {
      const indent = /^ *(?:if|for|while|switch|super)\b/.test(line) ? undefined : opening.exec(line)?.[1];
      if (indent === undefined) return;
      // As the formatter leaves it: the end stands at the beginning's depth, and that of a mere signature with a semicolon.
      const isEnd = (each: string) =>
        each.startsWith(`${indent}}`) || (each.startsWith(`${indent})`) && each.endsWith(';'));
      const length = lines.slice(start).findIndex(isEnd) + 1;
      if (length > 70) offences.push(`${file.path}:${start + 1}: ${length} lines`);
    });
  }
  assert.deepEqual(offences, []);
});

/** How many exported functions take three or four positional arguments. There may be fewer, and then the number goes down. */
const mostWithLongCalls = 395;

test('exported functions take two positional arguments and then options: never five, and no three that can be mistaken for each other', () => {
  const functions = product.flatMap(({ path, text }) =>
    exportedFunctions(text).map((one) => ({ ...one, place: `${path}: ${one.name}` })),
  );
  const typeOf = (parameter = '') => /: (string|number|boolean)$/.exec(parameter)?.[1];
  const isConfusing = ({ parameters }: ExportedFunction) =>
    parameters.some((one, i) => {
      const type = typeOf(one);
      return type !== undefined && typeOf(parameters[i + 1]) === type && typeOf(parameters[i + 2]) === type;
    });
  const offences = functions.filter((one) => one.parameters.length > 4 || isConfusing(one)).map(({ place }) => place);
  assert.deepEqual(offences, []);
  const long = functions.filter(({ parameters }) => parameters.length > 2);
  assert.ok(functions.length > 1000 && long.length > 0, 'functions are found');
  assert.ok(long.length <= mostWithLongCalls, `${long.length} take more than two positional arguments`);
});

test('the arguments of a function are counted whatever their types hold', () => {
  const text = [
    'export async function one<T extends (a: X, b: Y) => Z>(',
    '  first: Map<string, T>,',
    '  { a, b }: { readonly a: [number, string]; readonly b: (x: T, y: T) => void },',
    '  // of three, with a comma',
    '  ...rest: readonly T[]',
    '): void {}',
    'export function none() {}',
  ].join('\n');
  assert.deepEqual(
    exportedFunctions(text).map(({ name, parameters }) => [name, parameters.length]),
    [
      ['one', 2],
      ['none', 0],
    ],
  );
});

test('nothing is left for later in the code', () => {
  const word = ['TO', 'DO|FIX', 'ME|X', 'XX'].join('');
  const pattern = new RegExp(`\\b(${word})\\b`);
  const offences = sources.filter((file) => pattern.test(file.text)).map((file) => file.path);
  assert.deepEqual(offences, []);
});

test('tests are neither switched off nor run alone', () => {
  const pattern = /\b(it|test|describe)\.(only|todo)\(|\{ *(only|todo): *true/;
  const offences = [...sources, ...sourceFiles('test')]
    .filter((file) => file.path !== 'test/tidy.test.ts' && pattern.test(file.text))
    .map((file) => file.path);
  assert.deepEqual(offences, []);
});

test('what a machine may lack is asked for in one place, which fails in CI', () => {
  const own = ['src/testing/needs.ts', 'src/testing/needs.test.ts', 'src/testing/kubectl.ts', 'test/tidy.test.ts'];
  const tests = ['src', 'test', 'examples'].flatMap(sourceFiles).filter(({ path }) => !own.includes(path));
  const leavesOut = /\bskip *:|[{,] *skip *[,}]|\b(it|test|describe|t|context)\.skip\(|process\.env\.CI\b/;
  const offences = tests.flatMap((file) => [
    ...(leavesOut.test(codeOf(file.text)) ? [`${file.path}: needs() of src/testing/needs.ts leaves tests out`] : []),
    ...(importsOf(file).some(({ target }) => target === 'src/testing/kubectl.ts') && !/\bneeds\(/.test(file.text)
      ? [`${file.path}: tests with kubectl need it, or none would run where there is none`]
      : []),
  ]);
  assert.deepEqual(offences, []);
});

test('examples use what the package exports, and nothing else of this repository', () => {
  const offences = sourceFiles('examples').flatMap((file) =>
    importsOf(file)
      .filter(({ target }) => target !== undefined && !target.startsWith('examples/'))
      .map(({ specifier }) => `${file.path} imports ${specifier}`),
  );
  assert.deepEqual(offences, []);
});

test('every file is used', () => {
  const reached = new Set<string>();
  const everything = ['src', 'test', 'bench', 'scripts', 'examples'].flatMap(sourceFiles);
  for (const file of everything) for (const { target } of importsOf(file)) if (target) reached.add(target);
  const entries = new Set([
    'src/cli/main.ts',
    'src/testing/index.ts',
    'src/client/index.ts',
    'src/reconcile/index.ts',
    'src/sim/index.ts',
  ]);
  const offences = sources
    .filter((file) => !/\.test\.ts$/.test(file.path) && !reached.has(file.path) && !entries.has(file.path))
    .filter(
      (file) => !everything.some((other) => other !== file && other.text.includes(file.path.split('/').pop() ?? '')),
    )
    .map((file) => file.path);
  assert.deepEqual(offences, []);
});

test('what a file exports, types aside, another one uses', () => {
  const everything = ['src', 'test', 'bench', 'scripts', 'examples'].flatMap(sourceFiles);
  const usersOf = new Map<string, number>();
  for (const { text } of everything)
    for (const word of new Set(text.match(/[A-Za-z_$][\w$]*/g))) usersOf.set(word, (usersOf.get(word) ?? 0) + 1);
  const exported = /^export (?:abstract )?(?:async )?(?:const|function\*?|class) ([\w$]+)/gm;
  const offences = sources.flatMap(({ path, text }) =>
    [...text.matchAll(exported)].filter(([, name]) => usersOf.get(name!) === 1).map(([, name]) => `${path}: ${name}`),
  );
  assert.deepEqual(offences, []);
});

test('what an interface of options allows, somebody sets', () => {
  const interfaces = /^export interface \w+ [^{]*\{\n[\s\S]*?^\}/gm;
  // What is read is taken apart: `const { timeoutMs = 5 } = options`, `({ timeoutMs }: Options) =>`.
  const readings = /(?:const|let) \{[^}]*\} = |\(\{[^}]*\}: /g;
  const set = new Set<string>();
  for (const { text } of ['src', 'test', 'bench', 'scripts', 'examples'].flatMap(sourceFiles)) {
    const rest = text.replace(interfaces, '').replace(readings, '');
    for (const [, name = ''] of rest.matchAll(/(?<![.\w])(\w+)(?=[:(]| *[,}]| = )/g)) set.add(name);
    // A flag of our own verbs, as the user writes it.
    for (const [, flag = ''] of text.matchAll(/'--([a-z][a-z-]+)/g))
      set.add(flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()));
  }
  const offences = product.flatMap(({ path, text }) =>
    [...text.matchAll(/^export interface (\w*Options)\b[^{]*\{\n([\s\S]*?)^\}/gm)].flatMap(([, owner, body = '']) =>
      [...body.matchAll(/^ {2}(?:readonly )?(\w+)\?[:(]/gm)]
        .filter(([, name = '']) => !set.has(name))
        .map(([, name]) => `${path}: ${owner}.${name}`),
    ),
  );
  assert.deepEqual(offences, []);
});

test('the lock knows every optional package, of other systems too: npm ci refuses one that does not', () => {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { optionalDependencies?: Record<string, string> }>;
  };
  const missing = Object.values(lock.packages)
    .flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies))
    .filter((name) => !lock.packages[`node_modules/${name}`]);
  assert.deepEqual(missing, []);
});
