import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../testing/properties.fixture.ts';
import { errorText, path } from './field-error.ts';
import { parseFieldSelector } from './fields.ts';
import {
  formatLabels,
  labelMatcherOf,
  labelMatcherOfSet,
  parseLabelSelector,
  SelectorError,
  validateLabelSelector,
} from './labels.ts';

const matching: readonly { selector: string; yes: readonly object[]; no: readonly object[] }[] = [
  { selector: '', yes: [{}, { x: 'y' }], no: [] },
  { selector: 'x=y', yes: [{ x: 'y' }, { x: 'y', z: 'w' }], no: [{ x: 'z' }, {}] },
  { selector: 'x==y', yes: [{ x: 'y' }], no: [{ x: 'z' }] },
  { selector: 'x!=y', yes: [{ x: 'z' }, {}], no: [{ x: 'y' }] },
  { selector: 'x in (a,b)', yes: [{ x: 'a' }, { x: 'b' }], no: [{ x: 'c' }, {}] },
  { selector: 'x notin (a,b)', yes: [{ x: 'c' }, {}], no: [{ x: 'a' }] },
  { selector: 'x', yes: [{ x: '' }, { x: 'a' }], no: [{ y: 'a' }] },
  { selector: '!x', yes: [{ y: 'a' }, {}], no: [{ x: '' }] },
  { selector: 'x>1', yes: [{ x: '2' }, { x: '9223372036854775807' }], no: [{ x: '1' }, { x: 'a' }, {}] },
  { selector: 'x<1', yes: [{ x: '0' }, { x: '-5' }], no: [{ x: '1' }] },
  { selector: 'x=', yes: [{ x: '' }], no: [{ x: 'a' }, {}] },
  { selector: 'x in ()', yes: [{ x: '' }], no: [{ x: 'a' }] },
  { selector: 'x in (,a)', yes: [{ x: '' }, { x: 'a' }], no: [{ x: 'b' }] },
  { selector: ' a , b = c ,!d ', yes: [{ a: '', b: 'c' }], no: [{ a: '', b: 'c', d: '' }] },
  { selector: 'in in (in,notin)', yes: [{ in: 'notin' }], no: [{ in: 'x' }] },
  { selector: 'constructor', yes: [], no: [{}] },
];

test('selectors match what they should', () => {
  for (const { selector, yes, no } of matching) {
    const matcher = parseLabelSelector(selector);
    for (const labels of yes) assert.ok(matcher.matches(labels as never), `${selector} on ${JSON.stringify(labels)}`);
    for (const labels of no) assert.ok(!matcher.matches(labels as never), `${selector} on ${JSON.stringify(labels)}`);
  }
});

const rule =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const malformed: readonly [string, string][] = [
  ['x=a||y=b', ''],
  ['x==a==b', "found '==', expected: ',' or 'end of string'"],
  ['!x=a', "found '=', expected: ',' or 'end of string'"],
  [
    'x<a',
    "unable to parse requirement: values[0]: Invalid value: \"a\": for 'Gt', 'Lt' operators, the value must be an integer",
  ],
  ['x y', "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt"],
  ['x in a', "unable to parse requirement: found 'a' expected: '('"],
  ['x in (a', "unable to parse requirement: found '', expected: ',' or ')'"],
  ['x,', "found '', expected: identifier after ','"],
  [',x', "found ',', expected: !, identifier, or 'end of string'"],
  ['!', "unable to parse requirement: found '', expected: identifier"],
  ['-x', `unable to parse requirement: <nil>: Invalid value: "-x": ${rule}`],
];

test('malformed selectors are refused in the words of the API', () => {
  for (const [selector, message] of malformed) {
    assert.throws(
      () => parseLabelSelector(selector),
      (error) => {
        assert.ok(error instanceof SelectorError);
        if (message !== '') assert.equal(error.message, message);
        return true;
      },
      selector,
    );
  }
});

test('a matcher prints as a selector that means the same', () => {
  assert.equal(String(parseLabelSelector('z in (b,a),x=y,!w,v>3')), 'v>3,!w,x=y,z in (a,b)');
  const word = fc.stringMatching(/^[a-z]{1,3}$/);
  const term = fc.oneof(
    fc.tuple(word, fc.constantFrom('=', '==', '!='), word).map(([key, operator, value]) => key + operator + value),
    fc
      .tuple(word, fc.constantFrom('in', 'notin'), fc.array(word, { minLength: 1, maxLength: 3 }))
      .map(([key, operator, values]) => `${key} ${operator} (${values.join(',')})`),
    word,
    word.map((key) => `!${key}`),
  );
  const labels = fc.dictionary(word, word);
  fc.assert(
    fc.property(fc.array(term, { maxLength: 4 }), labels, (terms, set) => {
      const matcher = parseLabelSelector(terms.join(','));
      const again = parseLabelSelector(String(matcher));
      assert.equal(String(again), String(matcher));
      assert.equal(again.matches(set), matcher.matches(set));
    }),
  );
});

test('the object form: absent matches nothing, empty everything', () => {
  assert.equal(labelMatcherOf(undefined).matches({}), false);
  assert.equal(labelMatcherOf({}).matches({ a: 'b' }), true);
  const selector = {
    matchLabels: { app: 'web' },
    matchExpressions: [
      { key: 'tier', operator: 'In', values: ['a', 'b'] },
      { key: 'old', operator: 'DoesNotExist' },
    ],
  };
  const matcher = labelMatcherOf(selector);
  assert.equal(String(matcher), 'app=web,!old,tier in (a,b)');
  assert.equal(matcher.matches({ app: 'web', tier: 'b' }), true);
  assert.equal(matcher.matches({ app: 'web', tier: 'b', old: '' }), false);
  assert.equal(matcher.exactValue('app'), 'web');
  assert.equal(matcher.exactValue('tier'), undefined);
  const unknown = { matchExpressions: [{ key: 'a', operator: 'Near' }] };
  assert.throws(() => labelMatcherOf(unknown), /^SelectorError: "Near" is not a valid label selector operator$/);
  assert.equal(labelMatcherOfSet({ a: 'b' }).matches({ a: 'b', c: 'd' }), true);
});

test('validation names every fault of a selector', () => {
  const selector = {
    matchLabels: { 'a b': 'c' },
    matchExpressions: [
      { key: 'a', operator: 'In' },
      { key: 'a', operator: 'Exists', values: ['x'] },
      { key: 'a', operator: 'Near' },
    ],
  };
  const errors = validateLabelSelector(selector, path('spec', 'selector')).map(errorText);
  assert.deepEqual(errors, [
    `spec.selector.matchLabels: Invalid value: "a b": ${rule}`,
    "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    "spec.selector.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    'spec.selector.matchExpressions[2].operator: Invalid value: "Near": not a valid selector operator',
  ]);
});

test('labels print sorted', () => {
  assert.equal(formatLabels({ b: '2', a: '1' }), 'a=1,b=2');
  assert.equal(formatLabels(undefined), '');
});

test('field selectors compare, with absent as empty', () => {
  const matcher = parseFieldSelector('spec.nodeName=,status.phase!=Failed');
  assert.equal(matcher.matches({ 'status.phase': 'Running' }), true);
  assert.equal(matcher.matches({ 'status.phase': 'Failed' }), false);
  assert.equal(matcher.matches({ 'spec.nodeName': 'n' }), false);
  assert.equal(parseFieldSelector('a==b').exactValue('a'), 'b');
  assert.equal(parseFieldSelector('').empty, true);
});

test('field selectors: escapes and what is wrong with a selector', () => {
  const escaped = parseFieldSelector('a=x\\,y\\=z\\\\');
  assert.equal(escaped.exactValue('a'), 'x,y=z\\');
  assert.equal(String(escaped), 'a=x\\,y\\=z\\\\');
  assert.throws(() => parseFieldSelector('a'), /invalid selector: 'a'; can't understand 'a'/);
  assert.throws(() => parseFieldSelector('a=b=c'), /invalid field selector: unescaped character in value: 61/);
  assert.throws(() => parseFieldSelector('a=b\\c'), /invalid field selector: invalid escape sequence: \\c/);
});
