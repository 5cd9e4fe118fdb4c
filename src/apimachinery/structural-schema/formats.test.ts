import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatCheck, isKnownFormat } from './formats.ts';

interface Case {
  readonly format: string;
  readonly good: readonly string[];
  readonly bad: readonly string[];
}

const cases: readonly Case[] = [
  { format: 'bsonobjectid', good: ['507f1f77bcf86cd799439011'], bad: ['507f1f77', ''] },
  {
    format: 'uri',
    good: ['https://example.com/a?b#c', '/a', 'mailto:a@b', 'http://[::1]:80/', 'http://u:p@h/', '*', 'https:///x'],
    bad: ['', 'example.com', 'a b', '://x', 'http://a b/', 'http://h:x/', '/%zz', 'http://h/\u0001'],
  },
  {
    format: 'email',
    good: ['a@b.c', 'A B <a@b>', '"a b"@c', '<a@b>', 'a@[127.0.0.1]', '"B, A" <a@b>', ' a@b ', 'a (x) <a@b>'],
    bad: ['', 'a', 'a@', '@b', 'a@b c', 'a..b@c', 'A <a@b', 'a@b (x'],
  },
  {
    format: 'hostname',
    good: ['a', 'example.com', 'a-b', '1.example.org', 'ex-am-ple.com'],
    bad: ['', 'a.b.1', 'a_b.com', '-a.com', 'a-.com', 'a.c', `${'a'.repeat(64)}.com`, 'a.com.'],
  },
  { format: 'ipv4', good: ['1.2.3.4', '01.2.3.4', '::ffff:1.2.3.4'], bad: ['1.2.3', '1.2.3.256', '::1', ''] },
  { format: 'ipv6', good: ['::1', '2001:db8::1', '::ffff:1.2.3.4'], bad: ['1.2.3.4', ':', '::ffff:01.2.3.4', 'g::'] },
  { format: 'cidr', good: ['10.0.0.1/8', '::/0'], bad: ['10.0.0.0', '10.0.0.0/33', '/8'] },
  {
    format: 'mac',
    good: ['01:23:45:67:89:ab', '01-23-45-67-89-AB', '0123.4567.89ab', '01:23:45:67:89:ab:cd:ef'],
    bad: ['01:23:45:67:89', '01:23-45:67:89:ab', '0123456789ab', ''],
  },
  {
    format: 'uuid',
    good: ['123e4567-e89b-12d3-a456-426614174000', '123E4567E89B12D3A456426614174000'],
    bad: ['123e4567'],
  },
  { format: 'uuid3', good: ['123e4567-e89b-32d3-a456-426614174000'], bad: ['123e4567-e89b-42d3-a456-426614174000'] },
  { format: 'uuid4', good: ['123e4567-e89b-42d3-a456-426614174000'], bad: ['123e4567-e89b-42d3-c456-426614174000'] },
  { format: 'uuid5', good: ['123e4567-e89b-52d3-a456-426614174000'], bad: ['123e4567-e89b-42d3-a456-426614174000'] },
  { format: 'isbn', good: ['0321751043', '978-0321751041'], bad: ['0321751044', '978-0321751042', ''] },
  { format: 'isbn10', good: ['0-321-75104-3', '080442957X'], bad: ['978-0321751041'] },
  { format: 'isbn13', good: ['978 0321751041'], bad: ['0321751043'] },
  { format: 'creditcard', good: ['4111 1111 1111 1111'], bad: ['4111 1111 1111 1112', '1234'] },
  { format: 'ssn', good: ['111-22-3333', '111 22 3333'], bad: ['111223333', '11-222-3333'] },
  { format: 'hexcolor', good: ['#fff', 'FFFFFF'], bad: ['#ffff', '#ggg'] },
  { format: 'rgbcolor', good: ['rgb(0,128,255)', 'rgb( 1 , 2 , 3 )'], bad: ['rgb(0,0,256)', 'rgb(0,0)'] },
  { format: 'byte', good: ['YQ==', 'YWI=', 'YWJj'], bad: ['', 'YQ', 'YQ=', 'Y_Q='] },
  { format: 'password', good: ['', 'anything'], bad: [] },
  { format: 'date', good: ['2024-02-29'], bad: ['2023-02-29', '24-01-01', '2024-13-01', ''] },
  {
    format: 'date-time',
    good: ['2014-12-15T19:30:20.000Z', '2014-12-15t19:30:20+01:00', '2014-12-15T19:30:20z'],
    bad: ['2014-12-15', '2014-12-15T24:00:00Z', '2014-12-15T19:30:60Z', '2014-12-15T19:30:20', '2014-02-30T00:00:00Z'],
  },
  {
    format: 'duration',
    good: ['1h30m', '-1.5h', '0', '2 weeks', '3 d', '1 micro', 'about 5 minutes'],
    bad: ['', 'h', '5', '1 fortnight', '99999999999999999999 s'],
  },
  { format: 'k8s-short-name', good: ['a-1'], bad: ['A', 'a.b', 'a'.repeat(64)] },
  { format: 'k8s-long-name', good: ['a.b-c'], bad: ['A.b', 'a..b'] },
];

describe('formats', () => {
  for (const { format, good, bad } of cases) {
    it(format, () => {
      const check = formatCheck(format)!;
      for (const text of good) assert.equal(check(text), true, text);
      for (const text of bad) assert.equal(check(text), false, text);
    });
  }

  it('mean something for their own types only', () => {
    assert.equal(isKnownFormat('int32', 'integer'), true);
    assert.equal(isKnownFormat('int32', 'string'), false);
    assert.equal(isKnownFormat('int32', 'constructor'), false);
    assert.equal(isKnownFormat('double', 'number'), true);
    assert.equal(isKnownFormat('date', 'object'), false);
    assert.equal(isKnownFormat('datetime', ''), true);
    assert.equal(isKnownFormat('unheard-of', 'string'), false);
  });

  it('are checked in time linear to the text', () => {
    for (const letter of ['a', '1', '-', '.', ' ', '(', '"', 'a.', '1:', '%', '1 ']) {
      const long = letter.repeat(200_000);
      for (const { format } of cases)
        for (const text of [long, `${long}!`]) assert.equal(typeof formatCheck(format)!(text), 'boolean');
    }
  });
});
