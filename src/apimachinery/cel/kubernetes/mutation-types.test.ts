import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CelError } from '../index.ts';
import { baseEnvironment } from '../library/environment.ts';
import { jsonOf } from './json-value.ts';
import { mutationOptions, typeNameFaults } from './mutation-types.ts';

const environment = baseEnvironment('new').extend(mutationOptions);

function evaluate(expression: string) {
  const compiled = environment.compile(expression);
  assert.ok(compiled.program, JSON.stringify(compiled));
  return { type: compiled.program.resultType.toString(), value: compiled.program.evaluate({}).value };
}

function json(expression: string): unknown {
  const written = jsonOf(evaluate(expression).value);
  return written instanceof CelError ? written.message : written.json;
}

test('apply configurations are written out as objects', () => {
  assert.deepEqual(json('Object{}'), {});
  assert.deepEqual(json('Object{spec: Object.spec{replicas: 3}}'), { spec: { replicas: 3 } });
  const containers =
    'Object{spec: Object.spec{template: Object.spec.template{containers: [Object.spec.template.containers{name: "nginx", args: ["-g"]}]}}}';
  assert.deepEqual(json(containers), { spec: { template: { containers: [{ name: 'nginx', args: ['-g'] }] } } });
  assert.deepEqual(json('Object{metadata: Object.metadata{labels: {"a": "b"}}, ?x: optional.none()}'), {
    metadata: { labels: { a: 'b' } },
  });
  assert.equal(evaluate('Object{spec: Object.spec{replicas: 6}}.spec.replicas').value, 6n);
  assert.equal(evaluate('Object{a: Object.a{b: 3}} == Object{a: Object.a{b: 1 + 2}}').value, true);
  assert.equal(evaluate('Object{}').type, 'Object');
});

test('patches are written out, whether they make sense or not', () => {
  assert.deepEqual(json('JSONPatch{op: "add", path: "/spec/" + jsonpatch.escapeKey("a/b~c"), value: dyn([1, 2])}'), {
    op: 'add',
    path: '/spec/a~1b~0c',
    value: [1, 2],
  });
  assert.deepEqual(json('JSONPatch{op: "invalid"}'), { op: 'invalid' });
  assert.equal(evaluate('[JSONPatch{op: "remove", path: "/a"}]').type, 'list(JSONPatch)');
});

test('unknown types and fields are no expressions', () => {
  const textOf = (expression: string) => {
    const compiled = environment.compile(expression);
    return compiled.program ? '' : compiled.text;
  };
  assert.match(textOf('Invalid{}'), /undeclared reference to 'Invalid'/);
  assert.match(textOf('JSONPatch{nonsense: 1}'), /undefined field 'nonsense'/);
  assert.match(textOf('JSONPatch{op: 1}'), /expected type of field 'op' is 'string' but provided type is 'int'/);
});

test('the name of each type is the path to it', () => {
  assert.deepEqual(typeNameFaults(evaluate('Object{spec: Object.spec{list: [Object.spec.list{a: 1}]}}').value), []);
  assert.deepEqual(typeNameFaults(evaluate('Object{spec: Object.status{}}').value), [
    'unexpected type name "Object.status", expected "Object.spec", which matches field name path from root Object type',
  ]);
});

test('times, durations and bytes become texts; what is no JSON is refused', () => {
  assert.deepEqual(
    json("[dyn(timestamp('2026-01-01T00:00:00Z')), dyn(duration('90s')), dyn(b'a'), dyn(1u), dyn(null)]"),
    ['2026-01-01T00:00:00Z', '90s', 'YQ==', 1, null],
  );
  assert.equal(json('{1: 2}'), 'map key 1 is of type int, not string');
  assert.equal(json("ip('1.2.3.4')"), 'net.IP has no JSON form');
});
