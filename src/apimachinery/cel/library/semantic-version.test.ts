import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../../testing/properties.fixture.ts';
import { compareVersions, parseVersion, parseVersionLeniently } from './semantic-version.ts';

test('what is no version is refused in upstream’s words', () => {
  const refused: readonly (readonly [string, string])[] = [
    ['', 'Version string empty'],
    ['1.2', 'No Major.Minor.Patch elements found'],
    ['v1.2.3', 'Invalid character(s) found in major number "v1"'],
    ['1.x.3', 'Invalid character(s) found in minor number "x"'],
    ['1.2.three', 'Invalid character(s) found in patch number "three"'],
    ['01.2.3', 'Major number must not contain leading zeroes "01"'],
    ['1.02.3', 'Minor number must not contain leading zeroes "02"'],
    ['1..3', 'strconv.ParseUint: parsing "": invalid syntax'],
    ['99999999999999999999.0.0', 'strconv.ParseUint: parsing "99999999999999999999": value out of range'],
    ['1.2.3-', 'Prerelease is empty'],
    ['1.2.3-01', 'Numeric PreRelease version must not contain leading zeroes "01"'],
    ['1.2.3-a_b', 'Invalid character(s) found in prerelease "a_b"'],
    ['1.2.3+', 'Build meta data is empty'],
    ['1.2.3+a_b', 'Invalid character(s) found in build meta data "a_b"'],
  ];
  for (const [text, message] of refused) assert.throws(() => parseVersion(text), { name: 'VersionError', message });
});

test('versions are ordered by their numbers, then by their prereleases', () => {
  const ascending = [
    '0.9.9',
    '1.0.0-1',
    '1.0.0-2',
    '1.0.0-10',
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0',
    '1.0.10',
    '1.2.0',
  ].map(parseVersion);
  for (const [i, low] of ascending.entries()) {
    for (const [j, high] of ascending.entries()) assert.equal(compareVersions(low, high), Math.sign(i - j));
  }
});

test('build metadata takes no part in the order', () => {
  assert.equal(compareVersions(parseVersion('1.0.0+a'), parseVersion('1.0.0+b')), 0);
});

test('the lenient reading forgives prefix, zeros and missing parts, and nothing else', () => {
  const same = (text: string, strict: string) =>
    assert.equal(compareVersions(parseVersionLeniently(text), parseVersion(strict)), 0);
  same('v1.2.3', '1.2.3');
  same('1.2', '1.2.0');
  same('01.02.03', '1.2.3');
  same('00.0', '0.0.0');
  same('v01.01.0-alpha', '1.1.0-alpha');
  assert.throws(() => parseVersionLeniently('1.0-alpha'), {
    message: 'short version cannot contain PreRelease/Build meta data',
  });
});

test('comparing is an order', () => {
  const part = fc.oneof(fc.nat(20).map(String), fc.stringMatching(/^[a-z-]{1,3}$/));
  const version = fc
    .tuple(fc.nat(3), fc.nat(3), fc.nat(3), fc.array(part, { maxLength: 3 }))
    .map(([major, minor, patch, pre]) => `${major}.${minor}.${patch}${pre.length > 0 ? `-${pre.join('.')}` : ''}`);
  fc.assert(
    fc.property(version, version, version, (...texts) => {
      const [a, b, c] = texts.map(parseVersion);
      assert.equal(compareVersions(a!, b!), -compareVersions(b!, a!) || 0);
      if (compareVersions(a!, b!) <= 0 && compareVersions(b!, c!) <= 0) assert.ok(compareVersions(a!, c!) <= 0);
    }),
  );
});
