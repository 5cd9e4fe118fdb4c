import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../testing/properties.fixture.ts';
import {
  checkRequestUri,
  escapePath,
  hostName,
  hostPort,
  parseUrl,
  queryPairs,
  UrlError,
  urlIdentity,
  urlText,
} from './go-url.ts';

test('a URL is taken apart as Go does', () => {
  const url = parseUrl('HTTPS://user:p%40ss@example.com:8080/a%2Fb/c d?q=1&q=2#top');
  assert.equal(url.scheme, 'https');
  assert.equal(url.userInfo, 'user:p@ss');
  assert.equal(url.host, 'example.com:8080');
  assert.equal(hostName(url.host), 'example.com');
  assert.equal(hostPort(url.host), '8080');
  assert.equal(url.escapedPath, '/a/b/c%20d');
  assert.equal(url.rawQuery, 'q=1&q=2');
  assert.equal(url.fragment, 'top');
});

test('a path keeps the spelling it has, if that is a valid one', () => {
  assert.equal(parseUrl('https://example.com/a%2Fb').escapedPath, '/a%2Fb');
  assert.equal(parseUrl('https://example.com/ä').escapedPath, '/%C3%A4');
  assert.equal(parseUrl('/only/path').escapedPath, '/only/path');
  assert.equal(parseUrl('https://example.com').escapedPath, '');
});

test('a URL is written as Go does', () => {
  const written: readonly (readonly [string, string])[] = [
    ['HTTP://Example.com/a b?c d#e f', 'http://Example.com/a%20b?c d#e%20f'],
    ['http://u:p%40ss@h:1/é', 'http://u:p%40ss@h:1/%C3%A9'],
    ['/a%2Fb/%E9', '/a%2Fb/%E9'],
    ["/it's[1]#it's[1]", "/it's[1]#it's[1]"],
    ['file:///x', 'file:///x'],
    ['file:/x', 'file:/x'],
    ['//h', '//h'],
    ['///x', '///x'],
    ['http://h?x', 'http://h?x'],
    ['mailto:joe@h', 'mailto:joe@h'],
    ['./a:b', './a:b'],
    ['a?', 'a?'],
    ['a#', 'a'],
    ['http://[fe80::1%25en0]:80/', 'http://[fe80::1%25en0]:80/'],
  ];
  for (const [text, after] of written) assert.equal(urlText(parseUrl(text)), after);
  assert.equal(parseUrl('/a%2Fb!').plainPath, '/a/b%21');
  assert.equal(escapePath('/a!/ü'), '/a%21/%C3%BC');
});

test('hosts in brackets lose them, and a zone stays', () => {
  const { host } = parseUrl('https://[fe80::1%25en0]:443/');
  assert.equal(host, '[fe80::1%en0]:443');
  assert.equal(hostName(host), 'fe80::1%en0');
  assert.equal(hostPort(host), '443');
});

test('a URL without slashes behind its scheme is opaque', () => {
  assert.equal(parseUrl('mailto:joe@example.com').opaque, 'joe@example.com');
});

test('what is no URL is refused in Go’s words', () => {
  const refused: readonly (readonly [string, string])[] = [
    ['', 'parse "": empty url'],
    ['../relative', 'parse "../relative": invalid URI for request'],
    ['example.com', 'parse "example.com": invalid URI for request'],
    [':80', 'parse ":80": missing protocol scheme'],
    ['http://a b/', 'parse "http://a b/": invalid character " " in host name'],
    ['http://a/%zz', 'parse "http://a/%zz": invalid URL escape "%zz"'],
    ['http://a/%2', 'parse "http://a/%2": invalid URL escape "%2"'],
    ['http://a/%ü', 'parse "http://a/%ü": invalid URL escape "%ü"'],
    ['http://a%20b/', 'parse "http://a%20b/": invalid URL escape "%20"'],
    ['http://a:b/', 'parse "http://a:b/": invalid port ":b" after host'],
    ['http://[::1/', 'parse "http://[::1/": missing \']\' in host'],
    ['http://us er@a/', 'parse "http://us er@a/": net/url: invalid userinfo'],
    ['http://a/\n', 'parse "http://a/\\n": net/url: invalid control character in URL'],
  ];
  for (const [text, message] of refused) {
    assert.throws(() => checkRequestUri(text), { name: 'UrlError', message });
  }
});

test('a colon in the first segment of a relative path is no URL', () => {
  assert.throws(() => parseUrl('1a:b/c'), {
    message: 'parse "1a:b/c": first path segment in URL cannot contain colon',
  });
});

test('a query becomes lists by name, and what cannot be decoded is left out', () => {
  const pairs = queryPairs('a=1&b=x+y&a=%C3%A4&bad=%zz&;=1&c');
  assert.deepEqual(
    [...pairs],
    [
      ['a', ['1', 'ä']],
      ['b', ['x y']],
      ['c', ['']],
    ],
  );
});

test('any text is a URL or refused with its name, and printing does not depend on the run', () => {
  fc.assert(
    fc.property(fc.oneof(fc.webUrl(), fc.string()), (text) => {
      try {
        checkRequestUri(text);
        assert.equal(urlIdentity(parseUrl(text)), urlIdentity(parseUrl(text)));
        const written = urlText(parseUrl(text));
        assert.equal(urlText(parseUrl(written)), written);
      } catch (error) {
        assert.ok(error instanceof UrlError && error.message.startsWith('parse "'));
      }
    }),
  );
});
