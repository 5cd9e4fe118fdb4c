import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../testing/properties.fixture.ts';
import { type ReplaceUrl, withLinks } from './page-links.ts';

/** What becomes of a page that comes in these pieces. */
async function rewritten(pieces: readonly Uint8Array[], replace: ReplaceUrl): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of withLinks(source(pieces), replace)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function* source(pieces: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

const belowPrefix: ReplaceUrl = (url) => (url.startsWith('/') ? `/p${url}` : undefined);
const page = async (text: string) => (await rewritten([Buffer.from(text)], belowPrefix)).toString();

test('the URL of a link is replaced, and all around it stays', async () => {
  const cases: readonly (readonly [string, string])[] = [
    ['<a href="/x">test</a>', '<a href="/p/x">test</a>'],
    ["<A  HREF = '/x'  id=1 disabled>", "<A  HREF = '/p/x'  id=1 disabled>"],
    ['<a href=/x>', '<a href="/p/x">'],
    ['<a href=/x/ id=1>', '<a href="/p/x/" id=1>'],
    ['<a href="/x?a=1&amp;b=2&c">', '<a href="/p/x?a=1&amp;b=2&amp;c">'],
    ['<a href="/&#228;&eacute;">', '<a href="/p/äé">'],
    ["<a href='/it&#39;s'>", "<a href='/p/it&#39;s'>"],
    ['<img src=/a longdesc="/b" usemap="#c"/>', '<img src="/p/a" longdesc="/p/b" usemap="#c"/>'],
    ['<form action="/f"><button formaction=/g>', '<form action="/p/f"><button formaction="/p/g">'],
    ['<a title="/x" href=beside>', '<a title="/x" href=beside>'],
    ['<a href><a href=""><b href="/x">', '<a href><a href=""><b href="/x">'],
  ];
  for (const [before, after] of cases) assert.equal(await page(before), after);
});

test('what is no start tag stays as it is', async () => {
  const texts = [
    '<!-- <a href="/x"> -->',
    '<!DOCTYPE html "/x">',
    '<script>let a = \'<a href="/x">\';</script>',
    '<style>a { background: url(/x) } /* <a href="/x"> */</style>',
    '<textarea><a href="/x"></textarea><title><a href="/x"></title>',
    '<xmp><a href="/x"></xmp><iframe><a href="/x"></iframe>',
    '</a href="/x">',
    '<plaintext><a href="/x">',
    '1 < 2 <a href="/x',
  ];
  for (const text of texts) assert.equal(await page(text), text);
});

test('a page in an older encoding keeps its bytes, and its links are escaped', async () => {
  const bytes = Buffer.from('<p>caf\xe9</p><a href="/caf\xe9">', 'latin1');
  const after = await rewritten([bytes], belowPrefix);
  assert.equal(after.toString('latin1'), '<p>caf\xe9</p><a href="/p/caf%E9">');
});

/** Pieces of HTML, well-formed and not. */
const fragment = fc.oneof(
  fc.constantFrom(
    '<a href="',
    '/x',
    '">',
    '<',
    '>',
    "'",
    '"',
    '=',
    ' ',
    '&amp;',
    '&',
    ';',
    '/',
    '<img src=',
    '<!--',
    '-->',
  ),
  fc.constantFrom(
    '<script>',
    '</script>',
    '<title>',
    '</title>',
    '<A HREF=/y>',
    'href',
    '\n',
    'é',
    '<![CDATA[',
    '&#x',
    '\0',
  ),
  fc.string({ maxLength: 5 }),
);
const html = fc.array(fragment, { maxLength: 30 }).map((parts) => Buffer.from(parts.join('')));

test('a page becomes the same in whatever pieces it comes', () =>
  fc.assert(
    fc.asyncProperty(html, fc.array(fc.nat(100)), async (bytes, cuts) => {
      const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
      const pieces = places.slice(1).map((place, i) => bytes.subarray(places[i], place));
      assert.deepEqual(await rewritten(pieces, belowPrefix), await rewritten([bytes], belowPrefix));
    }),
  ));

test('a page none of whose links is replaced stays as it is, whatever its bytes are', () =>
  fc.assert(
    fc.asyncProperty(fc.oneof(html, fc.uint8Array({ maxLength: 200 })), async (bytes) => {
      assert.deepEqual(await rewritten([bytes], () => undefined), Buffer.from(bytes));
    }),
  ));

test('what never ends leaves as it comes: a name, a link, a comment, an entity', async () => {
  const endless = ['<', '<a ', '<a href="', '<a href=', '<!--', '<a href="&', '<script>', ''];
  for (const beginning of endless) {
    const length = 1 << 20;
    const piece = Buffer.alloc(1 << 12, 'x');
    let given = 0;
    let most = 0;
    let left = 0;
    async function* pieces() {
      yield Buffer.from(beginning);
      given += beginning.length;
      while (given < length) {
        most = Math.max(most, given - left);
        given += piece.length;
        yield piece;
      }
    }
    for await (const chunk of withLinks(pieces(), belowPrefix)) left += chunk.length;
    assert.equal(left, given, beginning);
    assert.ok(most <= 80 * 1024, `${beginning}: ${most} bytes were held`);
  }
});

test('a link after one that is too long is replaced again', async () => {
  const long = `<a href="/${'x'.repeat(100_000)}">`;
  assert.equal(await page(`${long}<a href="/x">`), `${long}<a href="/p/x">`);
});
