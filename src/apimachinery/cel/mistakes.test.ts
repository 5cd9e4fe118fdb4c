/**
 * Mistakes and types as another implementation, the one that Kubernetes uses, tells them: its recorded answers are compared to the
 * letter.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tests as checking } from '@bufbuild/cel-spec/testdata/checking.js';
import { tests as conformance } from '@bufbuild/cel-spec/testdata/conformance.js';
import { tests as parsing } from '@bufbuild/cel-spec/testdata/parsing.js';
import { Environment } from './index.ts';

interface Recorded {
  readonly expression: string;
  readonly error: string;
}

interface Suite {
  readonly suites?: readonly Suite[];
  readonly tests?: readonly {
    readonly original: { readonly expr: string; readonly typeEnv?: unknown };
    readonly error?: string;
    readonly type?: string;
  }[];
}

/** The types recorded of expressions that need no declarations. */
function typed(suite: Suite): readonly { readonly expression: string; readonly type: string }[] {
  const own = (suite.tests ?? []).flatMap(({ original, type }) =>
    type === undefined || original.typeEnv !== undefined ? [] : [{ expression: original.expr, type }],
  );
  return [...(suite.suites ?? []).flatMap(typed), ...own];
}

function recorded(suite: Suite): readonly Recorded[] {
  const own = (suite.tests ?? []).flatMap(({ original, error }) =>
    error === undefined ? [] : [{ expression: original.expr, error }],
  );
  return [...(suite.suites ?? []).flatMap(recorded), ...own];
}

/** What was recorded with other settings than Kubernetes': lower limits, no optional values, maps of mixed types, more macros. */
const otherSettings = /limit exceeded|recursion depth|unsupported syntax '(?:\.\?|\[\?|\?)'/;
const otherLanguage: ReadonlySet<string> = new Set([
  '{foo: 5, bar: "xyz"}',
  '{foo: 5, bar: "xyz", }',
  '[].existsOne(__result__, __result__)',
]);

const messages = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim().replace(/^ERROR: :/, 'ERROR: <input>:'))
    .filter((line) => line.startsWith('ERROR'));

test('mistakes in syntax and in names are told to the letter', () => {
  const environment = Environment.standard();
  const comparable = recorded(parsing).filter(
    ({ expression, error }) => !otherSettings.test(error) && !otherLanguage.has(expression),
  );
  for (const { expression, error } of comparable) {
    const compiled = environment.compile(expression);
    assert.deepEqual(compiled.program ? [] : messages(compiled.text), messages(error), expression);
  }
  assert.equal(comparable.length, 135);
});

test('mistakes in types are told to the letter, where no declarations are needed', () => {
  const environment = Environment.standard();
  const comparable = recorded(checking).filter(
    ({ expression, error }) =>
      !otherSettings.test(error) && !/\b(?:[axy]\b|TestAllTypes|NotAMessage)|1u? [<>]/.test(expression),
  );
  for (const { expression, error } of comparable) {
    const compiled = environment.compile(expression);
    assert.deepEqual(compiled.program ? [] : messages(compiled.text), messages(error), expression);
  }
  assert.equal(comparable.length, 8);
});

test('types are inferred as recorded', () => {
  const environment = Environment.standard();
  const compared = [...typed(conformance), ...typed(parsing), ...typed(checking)].flatMap(({ expression, type }) => {
    const { program } = environment.compile(expression);
    if (!program || expression.includes('google.protobuf')) return [];
    assert.equal(String(program.resultType), type, expression);
    return [expression];
  });
  assert.ok(compared.length > 900, `${compared.length} expressions are well typed here too`);
});
