import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import fc from '../../../testing/properties.fixture.ts';
import { formatIp } from '../../addresses.ts';
import { strictCidr, strictIp } from './go-address.ts';

test('what is no address is refused in Go’s words', () => {
  const refused: readonly (readonly [string, string])[] = [
    ['not an ip', 'unable to parse IP'],
    ['', 'unable to parse IP'],
    ['%eth0', 'missing IPv6 address'],
    ['192.168.0', 'IPv4 address too short'],
    ['192.168.0.1.0', 'IPv4 address too long'],
    ['192.168.0.256', 'IPv4 field has value >255'],
    ['192.168.01.1', 'IPv4 field has octet with leading zero'],
    ['192..0.1', 'IPv4 field must have at least one digit (at ".0.1")'],
    ['192.168.0.', 'IPv4 field must have at least one digit (at ".")'],
    ['192.168.x.1', 'unexpected character (at "x.1")'],
    ['2001:db8:::abcd', 'each colon-separated field must have at least one digit (at ":abcd")'],
    ['1:2:3', 'address string too short'],
    ['1:2:3:4:5:6:7:8:9', 'trailing garbage after address (at "9")'],
    ['1::2::3', 'multiple :: in address (at ":3")'],
    ['12345::', 'each group must have 4 or fewer digits (at "12345::")'],
    ['1:2:3:4:5:6:7:8::', 'the :: must expand to at least one field of zeros'],
    ['1:2:3.4.5.6', 'embedded IPv4 address must replace the final 2 fields of the address (at "3.4.5.6")'],
    ['::1%', 'zone must be a non-empty string'],
    ['1:', 'colon must be followed by more characters (at ":")'],
    ['1g::', 'unexpected character, want colon (at "g::")'],
  ];
  for (const [text, words] of refused) {
    const quoted = JSON.stringify(text);
    const message = `IP Address ${quoted} parse error during conversion from string: ParseAddr(${quoted}): ${words}`;
    assert.throws(() => strictIp(text), { message });
  }
});

test('zones and mapped addresses are addresses, but not for us', () => {
  assert.throws(() => strictIp('fe80::1%en0'), { message: 'IP address "fe80::1%en0" with zone value is not allowed' });
  assert.throws(() => strictIp('::ffff:1.2.3.4'), {
    message: 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed',
  });
  assert.throws(() => strictCidr('::ffff:1.2.3.4/112'), {
    message: 'IPv4-mapped IPv6 address "::ffff:1.2.3.4/112" is not allowed',
  });
});

test('what is no range is refused in Go’s words', () => {
  const refused: readonly (readonly [string, string])[] = [
    ['192.168.0.0', "no '/'"],
    ['192.168.0.0/', 'bad bits after slash: ""'],
    ['192.168.0.0/+8', 'bad bits after slash: "+8"'],
    ['192.168.0.0/08', 'bad bits after slash: "08"'],
    ['192.168.0.0/33', 'prefix length out of range'],
    ['::/129', 'prefix length out of range'],
    ['fe80::%en0/64', 'IPv6 zones cannot be present in a prefix'],
    ['192.168/16', 'ParseAddr("192.168"): IPv4 address too short'],
  ];
  for (const [text, words] of refused) {
    const message = `network address parse error during conversion from string: netip.ParsePrefix(${JSON.stringify(text)}): ${words}`;
    assert.throws(() => strictCidr(text), { message });
  }
});

test('an address that is printed is read as the same', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
      fc.pre(isIP(text) !== 0 && !/^0*(:0*)*:ffff:/i.test(text));
      const address = strictIp(text);
      assert.deepEqual(strictIp(formatIp(address)).value, address.value);
    }),
  );
});
