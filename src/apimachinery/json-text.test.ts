import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../testing/properties.fixture.ts';
import { parseJson } from './exact-json.ts';
import { JsonSyntaxError, maxJsonDepth, parseExact, plainValue, scanJson, wellFormed } from './json-text.ts';

describe('exact JSON parser', () => {
  it('agrees with the parser of whole numbers on any JSON', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        assert.deepEqual(plainValue(parseExact(text)), parseJson(text));
      }),
    );
  });

  it('refuses exactly what JSON.parse refuses', () => {
    const mangled = fc.tuple(fc.json(), fc.nat(), fc.constantFrom('', '}', ',', '"', '\\', '1', ' ', 'tru'));
    fc.assert(
      fc.property(mangled, ([json, at, insert]) => {
        const cut = at % (json.length + 1);
        const text = json.slice(0, cut) + insert + json.slice(cut + 1);
        assert.equal(
          accepts(() => parseExact(text)),
          accepts(() => JSON.parse(text)),
          text,
        );
      }),
    );
  });

  const errors = [
    { text: '', message: 'unexpected end of JSON input' },
    { text: '{', message: 'unexpected end of JSON input' },
    { text: 'x', message: "invalid character 'x' looking for beginning of value" },
    { text: '{a:1}', message: "invalid character 'a' looking for beginning of object key string" },
    { text: '{"a" 1}', message: "invalid character '1' after object key" },
    { text: '{"a":1 "b":2}', message: `invalid character '"' after object key:value pair` },
    { text: '[1 2]', message: "invalid character '2' after array element" },
    { text: '{}}', message: "invalid character '}' after top-level value" },
    { text: '"\n"', message: "invalid character '\\n' in string literal" },
    { text: '"\\x"', message: "invalid character 'x' in string escape code" },
    { text: '"\\u12g4"', message: "invalid character 'g' in \\u hexadecimal character escape" },
    { text: 'trye', message: "invalid character 'y' in literal true (expecting 'u')" },
    { text: '-x', message: "invalid character 'x' in numeric literal" },
    { text: '1.x', message: "invalid character 'x' after decimal point in numeric literal" },
    { text: '1ex', message: "invalid character 'x' in exponent of numeric literal" },
    { text: 'é', message: "invalid character 'Ã' looking for beginning of value" },
  ];
  for (const { text, message } of errors) {
    it(`explains ${JSON.stringify(text)} as Go does`, () => {
      assert.throws(() => parseExact(text), new JsonSyntaxError(message));
    });
  }

  it('keeps __proto__ as a key of its own', () => {
    const value = plainValue(parseExact('{"__proto__":{"a":1}}')) as object;
    assert.deepEqual(Object.keys(value), ['__proto__']);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
  });

  it('refuses nesting that could exhaust the stack', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    assert.doesNotThrow(() => parseExact(nested(maxJsonDepth)));
    assert.throws(
      () => parseExact(nested(maxJsonDepth + 1)),
      new JsonSyntaxError("invalid character '[' exceeded max depth"),
    );
  });
});

describe('scan of a JSON text', () => {
  const cases = [
    { text: '{"a":{"b":[{"c":1},{"c":2}]}}', keys: 4, inexact: false, depth: 4 },
    { text: '{"a:":"b\\":{","a:":"\\\\"}', keys: 2, inexact: false, depth: 1 },
    { text: '{ "a" : true , "b" : false }', keys: 2, inexact: false, depth: 1 },
    { text: '[1.5]', keys: 0, inexact: true, depth: 1 },
    { text: '[1e3]', keys: 0, inexact: true, depth: 1 },
    { text: '[123456789012345]', keys: 0, inexact: false, depth: 1 },
    { text: '[1234567890123456]', keys: 0, inexact: true, depth: 1 },
  ];
  for (const { text, ...expected } of cases)
    it(`sees what is in ${text}`, () => assert.deepEqual(scanJson(text), expected));
});

function accepts(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch {
    return false;
  }
}

it('half a surrogate pair is replaced, a whole one and an escaped backslash are not', () => {
  const read = (text: string) => JSON.parse(wellFormed(text)) as unknown;
  assert.equal(read('"\\ud800"'), '\ufffd');
  assert.equal(read('"\\uDC00\\uD83D x"'), '\ufffd\ufffd x');
  assert.equal(read('"\\ud83d\\ude00"'), '😀');
  assert.equal(read('"\\ud83d\\ud83d\\ude00"'), '\ufffd😀');
  assert.equal(read('"\\\\ud800"'), '\\ud800');
  assert.equal(read('"\\\\\\ud800"'), '\\\ufffd');
  assert.equal(read('{"\\ud800":"\\u00e9"}') && Object.keys(read('{"\\ud800":1}') as object)[0], '\ufffd');
});
