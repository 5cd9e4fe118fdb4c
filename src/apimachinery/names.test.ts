import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as addresses from './addresses.ts';
import { errorText, path } from './field-error.ts';
import * as names from './names.ts';

const long = (length: number) => 'a'.repeat(length);

const rules: readonly { rule: (value: string) => string[]; good: readonly string[]; bad: readonly string[] }[] = [
  {
    rule: names.dns1123Label,
    good: ['a', '0', 'my-name', long(63)],
    bad: ['', 'A', '-a', 'a-', 'a.b', 'a_b', long(64)],
  },
  { rule: names.dns1123Subdomain, good: ['a', 'a.b-c', long(253)], bad: ['', 'a..b', '.a', 'A', long(254)] },
  { rule: names.dns1035Label, good: ['a', 'a-1'], bad: ['', '1a', 'a-', long(64)] },
  { rule: names.wildcardDns1123Subdomain, good: ['*.a', '*.a.b'], bad: ['*', 'a', '*a', '*.*.a'] },
  {
    rule: names.qualifiedName,
    good: ['a', 'A.b_c-d', 'example.com/a'],
    bad: ['', '/a', 'a/', 'a/b/c', 'A.com/a', '-a', long(64)],
  },
  { rule: names.labelValue, good: ['', 'a', 'A_b.c-1'], bad: ['-', 'a b', 'a/b', long(64)] },
  { rule: names.configMapKey, good: ['a', '.a', 'A_b-c', '__proto__'], bad: ['', '.', '..', '..a', 'a/b'] },
  { rule: names.portName, good: ['http', 'a-1'], bad: ['', '1', 'a--b', '-a', 'a-', 'HTTP', long(16)] },
  { rule: names.envVarName, good: ['A', '_a', 'a.b-c'], bad: ['', '1a', 'a=b', '..'] },
  { rule: names.relaxedEnvVarName, good: ['1a', 'a b', '.'], bad: ['', 'a=b', 'é', '\n'] },
  { rule: names.cIdentifier, good: ['a', '_1'], bad: ['', '1', 'a-b'] },
  { rule: names.percent, good: ['0%', '150%'], bad: ['', '%', '1.5%', '5'] },
  { rule: names.httpHeaderName, good: ['X-A'], bad: ['', 'a b', 'a_b'] },
  { rule: (value) => names.pathSegmentName(value), good: ['a b', 'system:x'], bad: ['.', '..', 'a/b', 'a%'] },
  { rule: names.decimalInteger, good: ['0', '-5', '12'], bad: ['', '-', '-0', '05', '1.0'] },
];

test('each rule takes what it should and nothing else', () => {
  for (const { rule, good, bad } of rules) {
    for (const value of good) assert.deepEqual(rule(value), [], `${rule.name} ${value}`);
    for (const value of bad) assert.notDeepEqual(rule(value), [], `${rule.name} ${value}`);
  }
});

test('messages are those of the API', () => {
  assert.deepEqual(names.dns1123Label('A'), [
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  ]);
  assert.deepEqual(names.dns1123Label('a.b'), ['must not contain dots']);
  assert.deepEqual(names.dns1123Label(long(64)), ['must be no more than 63 characters']);
  assert.deepEqual(names.labelValue(long(64)), ['must be no more than 63 bytes']);
  assert.deepEqual(names.portNumber(0), ['must be between 1 and 65535, inclusive']);
  assert.deepEqual(names.qualifiedName('/a'), ['prefix part must be non-empty']);
});

test('a generateName may end in a dash', () => {
  assert.deepEqual(names.nameIsDnsLabel('a-', true), []);
  assert.notDeepEqual(names.nameIsDnsLabel('a-', false), []);
});

test('addresses are read and printed in canonical form', () => {
  const ips: readonly [string, string | undefined][] = [
    ['1.2.3.4', '1.2.3.4'],
    ['01.2.3.4', '1.2.3.4'],
    ['1.2.3', undefined],
    ['1.2.3.256', undefined],
    ['::', '::'],
    ['::1', '::1'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['fe80::1%eth0', undefined],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['1::2::3', undefined],
    ['1:2:3:4:5:6:7:8:9', undefined],
    ['', undefined],
  ];
  for (const [text, printed] of ips) {
    const address = addresses.parseIp(text);
    assert.equal(address && addresses.formatIp(address), printed, text);
  }
});

test('ranges are read, printed, and know what they contain', () => {
  const cidr = addresses.parseCidr('10.1.2.3/8')!;
  assert.equal(addresses.formatCidr(cidr), '10.0.0.0/8');
  assert.equal(addresses.cidrContains(cidr, addresses.parseIp('10.255.0.1')!), true);
  assert.equal(addresses.cidrContains(cidr, addresses.parseIp('11.0.0.1')!), false);
  assert.equal(addresses.cidrContains(cidr, addresses.parseIp('::1')!), false);
  assert.equal(addresses.cidrSize(cidr), 1n << 24n);
  assert.equal(addresses.parseCidr('10.0.0.0/33'), undefined);
  assert.equal(addresses.parseCidr('10.0.0.0'), undefined);
  assert.equal(addresses.formatCidr(addresses.parseCidr('2001:db8::ff/64')!), '2001:db8::/64');
});

test('faults of addresses are named as in the API', () => {
  const at = path('spec', 'ip');
  const texts = (errors: Parameters<typeof errorText>[0][]) => errors.map(errorText);
  assert.deepEqual(texts(addresses.validateIp('x', at)), [
    'spec.ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ]);
  assert.deepEqual(texts(addresses.validateIp('01.2.3.4', at)), [
    'spec.ip: Invalid value: "01.2.3.4": must not have leading 0s',
  ]);
  assert.deepEqual(texts(addresses.validateIp('2001:DB8::1', at)), [
    'spec.ip: Invalid value: "2001:DB8::1": must be in canonical form ("2001:db8::1")',
  ]);
  assert.deepEqual(texts(addresses.validateCidr('10.1.0.0/8', at)), [
    'spec.ip: Invalid value: "10.1.0.0/8": must not have bits set beyond the prefix length',
  ]);
  assert.deepEqual(addresses.cidrWarnings('10.1.0.0/8', at), [
    'spec.ip: CIDR value "10.1.0.0/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.1.0.0/32"?)',
  ]);
});
