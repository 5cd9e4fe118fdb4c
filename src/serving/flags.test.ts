import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FlagDefinition, FlagError, parseFlags } from './flags.ts';

const table: readonly FlagDefinition[] = [
  { name: 'register-node', type: 'bool', default: true },
  { name: 'node-ip', type: 'string', default: '' },
  { name: 'max-pods', type: 'int32', default: 110 },
  { name: 'sync-frequency', type: 'duration', default: '1m0s' },
  { name: 'controllers', type: 'stringSlice', default: ['*'] },
  { name: 'feature-gates', type: 'mapStringBool', default: {} },
  { name: 'eviction-hard', type: 'mapStringString(<)', default: {} },
  { name: 'pod-eviction-timeout', type: 'duration', default: '5m0s', deprecated: true },
  { name: 'bind-address', type: 'ip', default: '0.0.0.0' },
  { name: 'metrics-bind-address', type: 'ipPort', default: '127.0.0.1:10249' },
  { name: 'concurrent_rc_syncs', type: 'int32', default: 5 },
];

test('flags are taken with an equals sign, as the next word, and bare booleans as true', () => {
  const { values } = parseFlags(table, [
    '--node-ip',
    '10.0.0.1',
    '--max-pods=20',
    '--register-node=false',
    '--sync-frequency=10s',
  ]);
  assert.equal(values.get('node-ip'), '10.0.0.1');
  assert.equal(values.get('max-pods'), 20);
  assert.equal(values.get('register-node'), false);
  assert.equal(
    parseFlags(table, ['--register-node', 'false']).values.get('register-node'),
    true,
    'a bare boolean takes no word',
  );
});

test('a flag that is not given has its default, and underscores count as dashes', () => {
  const { values, given } = parseFlags(table, ['--max_pods=3']);
  assert.equal(values.get('sync-frequency'), '1m0s');
  assert.deepEqual([...given], ['max-pods']);
  assert.equal(parseFlags(table, ['--concurrent-rc-syncs=3']).values.get('concurrent_rc_syncs'), 3);
});

test('lists and maps replace the default and then add up', () => {
  const { values } = parseFlags(table, [
    '--controllers=*,-foo',
    '--controllers=bar',
    '--feature-gates=A=true,B=false',
    '--eviction-hard=memory.available<100Mi',
  ]);
  assert.deepEqual(values.get('controllers'), ['*', '-foo', 'bar']);
  assert.deepEqual(values.get('feature-gates'), { A: true, B: false });
  assert.deepEqual(values.get('eviction-hard'), { 'memory.available': '100Mi' });
});

test('words after -- and words without dashes are positional; deprecated flags are named', () => {
  const parsed = parseFlags(table, ['a', '--pod-eviction-timeout=1m', '--', '--b']);
  assert.deepEqual(parsed.positional, ['a', '--b']);
  assert.deepEqual(parsed.deprecated, ['pod-eviction-timeout']);
});

for (const { words, message } of [
  { words: ['--nope'], message: 'unknown flag: --nope' },
  { words: ['--node-ip'], message: 'flag needs an argument: --node-ip' },
  {
    words: ['--sync-frequency=soon'],
    message: 'invalid argument "soon" for "--sync-frequency" flag: time: invalid duration "soon"',
  },
  {
    words: ['--max-pods=x'],
    message: 'invalid argument "x" for "--max-pods" flag: strconv.ParseInt: parsing "x": invalid syntax',
  },
  {
    words: ['--register-node=maybe'],
    message: 'invalid argument "maybe" for "--register-node" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
  },
]) {
  test(`${words.join(' ')} is refused: ${message}`, () => {
    assert.throws(
      () => parseFlags(table, words),
      (error) => error instanceof FlagError && error.message === message,
    );
  });
}

test('addresses are addresses, with a port where one belongs', () => {
  const read = (word: string) => parseFlags(table, [word]);
  assert.equal(read('--bind-address=::1').values.get('bind-address'), '::1');
  for (const text of ['10.0.0.1', '[::]:10249', '']) read(`--metrics-bind-address=${text}`);
  const refused = (word: string, reason: string) => assert.throws(() => read(word), { message: reason });
  refused('--bind-address=foo', 'invalid argument "foo" for "--bind-address" flag: failed to parse IP: "foo"');
  const prefix = (text: string) => `invalid argument "${text}" for "--metrics-bind-address" flag: `;
  refused(
    '--metrics-bind-address=foo',
    `${prefix('foo')}"foo" is not in a valid format (ip or ip:port): address foo: missing port in address`,
  );
  refused('--metrics-bind-address=foo:1', `${prefix('foo:1')}"foo" is not a valid IP address`);
  refused('--metrics-bind-address=[::]:99999', `${prefix('[::]:99999')}"99999" is not a valid number`);
});
