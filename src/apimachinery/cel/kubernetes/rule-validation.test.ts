import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorText, invalid, path } from '../../field-error.ts';
import { type JsonSchemaProps, parseStructuralSchema, type ValidationRule } from '../../structural-schema/schema.ts';
import { type RuleValidationOptions, validateRules } from './rule-validation.ts';

const at = path('schema');

function faults(schema: JsonSchemaProps, options: Partial<RuleValidationOptions> = {}): string[] {
  return validateRules(parseStructuralSchema(schema), at, { ageOf: () => 'new', ...options }).map(errorText);
}

const ruled = (schema: JsonSchemaProps, ...rules: readonly ValidationRule[]): JsonSchemaProps => ({
  ...schema,
  'x-kubernetes-validations': rules,
});

const object = (properties: Readonly<Record<string, JsonSchemaProps>>): JsonSchemaProps => ({
  type: 'object',
  properties,
});
const string: JsonSchemaProps = { type: 'string' };

test('a rule must compile to a bool, and its message to a string', () => {
  const shown = (rule: string, more: object = {}) =>
    JSON.stringify({
      Rule: rule,
      Message: '',
      MessageExpression: '',
      Reason: null,
      FieldPath: '',
      OptionalOldSelf: null,
      ...more,
    });
  const inRule = 'schema.x-kubernetes-validations[0].rule: Invalid value: ';
  const schema = object({ a: { ...string, maxLength: 5 } });
  assert.deepEqual(faults(ruled(schema, { rule: 'self.a' })), [
    `${inRule}${shown('self.a')}: cel expression must evaluate to a bool`,
  ]);
  assert.deepEqual(faults(ruled(schema, { rule: 'self.b == 1' })), [
    `${inRule}${shown('self.b == 1')}: compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b == 1\n | ....^`,
  ]);
  const withMessage = { rule: "self.a == 'x'", messageExpression: '1' };
  assert.deepEqual(faults(ruled(schema, withMessage)), [
    `schema.x-kubernetes-validations[0].messageExpression: Invalid value: ${shown(withMessage.rule, { MessageExpression: '1' })}: messageExpression must evaluate to a string`,
  ]);
});

test('where the schema is wrong, rules at and above are not compiled', () => {
  const schema = ruled(object({ a: ruled(string, { rule: 'nonsense' }), b: string }), { rule: 'nonsense' });
  const schemaErrors = [invalid(at.child('properties').key('b').child('type'), 'x', 'is wrong')];
  const found = faults(schema, { schemaErrors });
  assert.equal(found.length, 1);
  assert.match(found[0]!, /^schema\.properties\[a\]\.x-kubernetes-validations\[0\]\.rule: Invalid value/);
});

test('a transition rule must stand where the old value is known', () => {
  const transition = { rule: 'self == oldSelf' };
  const small = { ...string, maxLength: 5 };
  const list = (more: JsonSchemaProps): JsonSchemaProps => ({
    type: 'array',
    maxItems: 3,
    items: ruled(small, transition),
    ...more,
  });
  assert.deepEqual(faults(object({ a: ruled(small, transition) })), []);
  assert.deepEqual(faults(object({ a: list({}) })), [
    'schema.properties[a].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within schema.properties[a]',
  ]);
  const keyed = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] };
  const items = ruled(object({ k: small }), transition);
  assert.deepEqual(faults(object({ a: list({ ...keyed, items }) })), []);
  assert.deepEqual(faults(ruled(object({ a: small }), { rule: "self.a == 'x'", optionalOldSelf: true })), [
    'schema.x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule',
  ]);
});

const advice =
  '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)';

test('a rule that could cost too much is refused by how much', () => {
  const nested = { rule: 'self.list.all(x, self.list.all(y, x != y))' };
  const schema = (maxItems?: number) =>
    ruled(
      object({ list: { type: 'array', items: { type: 'integer' }, ...(maxItems === undefined ? {} : { maxItems }) } }),
      nested,
    );
  const [unbounded, total] = faults(schema());
  assert.equal(
    unbounded,
    `schema.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${advice}`,
  );
  assert.equal(
    total,
    'schema.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
  );
  assert.deepEqual(faults(schema(10)), []);
  const [slightly] = faults(schema(1500));
  assert.match(slightly!, /estimated rule cost exceeds budget by factor of 1\.\d+x \(try/);
  assert.deepEqual(faults(schema(1500), { ignoreExpressionCost: true }), []);
});

test('a rule costs as often as its place can occur', () => {
  const expensive = { rule: "self.matches('^a+$')" };
  const schema = (maxItems: number): JsonSchemaProps =>
    object({ list: { type: 'array', maxItems, items: ruled({ ...string, maxLength: 1000 }, expensive) } });
  assert.deepEqual(faults(schema(10)), []);
  const [first] = faults(schema(1_000_000));
  assert.match(
    first!,
    /^schema\.properties\[list\]\.items\.x-kubernetes-validations\[0\]\.rule: Forbidden: estimated rule cost/,
  );
});

test('without limits the size of a request bounds what can be', () => {
  const rule = { rule: "self.a == 'x'" };
  // A text of three megabytes, walked once.
  assert.deepEqual(faults(ruled(object({ a: string }), rule)), []);
  assert.deepEqual(
    faults(
      object({ m: { type: 'object', additionalProperties: ruled(object({ a: { ...string, maxLength: 10 } }), rule) } }),
    ),
    [],
  );
});
