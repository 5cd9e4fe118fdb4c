import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorText, path } from '../../apimachinery/field-error.ts';
import { deviceMatcher, validateSelectorExpression } from './selector-expression.ts';

const errors = (text: string) => validateSelectorExpression(path('expression'), text).map(errorText);

describe('an expression that selects devices', () => {
  const good = [
    'device.driver == "gpu.example.com"',
    'device.allowMultipleAllocations',
    'device.attributes["gpu.example.com"].model == "a100"',
    'device.attributes["gpu.example.com"].cores > 4 && device.attributes["gpu.example.com"].healthy',
    'device.attributes["gpu.example.com"].healthy',
    'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40Gi"))',
    'cel.bind(dra, device.attributes["gpu.example.com"], dra.one && dra.other)',
    'device.attributes["gpu.example.com"].exists(name, name == "model")',
    'device.attributes["gpu.example.com"].version.isGreaterThan(semver("1.2.3"))',
  ];
  for (const text of good) it(`may be ${text}`, () => assert.deepEqual(errors(text), []));

  it('knows devices alone', () => {
    assert.deepEqual(errors('object.spec == 1'), [
      `expression: Invalid value: "object.spec == 1": compilation failed: ERROR: <input>:1:1: undeclared reference to 'object' (in container '')\n | object.spec == 1\n | ^`,
    ]);
    assert.match(errors('device.name == "a"')[0]!, /undefined field 'name'/);
  });

  it('gives yes or no, or an attribute that may be either', () => {
    assert.deepEqual(errors('device.driver'), [
      'expression: Invalid value: "device.driver": must evaluate to bool or the unknown type, not string',
    ]);
    assert.deepEqual(errors('dyn(true)'), [
      'expression: Invalid value: "dyn(true)": must evaluate to bool or the unknown type, not dyn',
    ]);
    assert.match(errors('')[0]!, /compilation failed/);
  });

  it('runs no loop over an attribute', () => {
    const [error = ''] = errors('device.attributes["d"].list.exists(x, x == 1)');
    assert.match(error, /expression of type 'any' cannot be range of a comprehension/);
  });

  it('binds simple names only', () => {
    assert.match(errors('cel.bind(a.b, 1, true)')[0]!, /cel\.bind\(\) variable names must be simple identifiers/);
  });

  it('may cost so much and no more', () => {
    const loop = (inner: string) => `device.attributes["d"].all(x, ${inner})`;
    assert.deepEqual(errors(loop('x == "a"')), []);
    const costly = loop(loop(loop(loop('x == "a"'))));
    assert.deepEqual(errors(costly), ['expression: Forbidden: too complex, exceeds cost limit']);
  });

  it('takes names that every object has for names like others', () => {
    const attributes = JSON.parse(
      '{"constructor/isFrozen":{"bool":true},"__proto__/polluted":{"bool":true},"toString":{"bool":true}}',
    );
    const said = (text: string) => deviceMatcher(text)('d.example', { name: 'd', attributes });
    const { isFrozen } = Object;
    assert.ok(said('device.attributes["constructor"].isFrozen && device.attributes["__proto__"].polluted'));
    assert.ok(said('device.attributes["d.example"].toString && !("valueOf" in device.attributes["d.example"])'));
    assert.equal(Object.isFrozen, isFrozen);
    assert.equal('polluted' in {}, false);
  });
});
