/**
 * The links of a page of HTML replaced while its bytes go by. Everything else leaves as it came, whatever its encoding, and leaves at once:
 * nothing is held but the attribute that is being read, and only so much of it as a URL may have, so a page may be huge, broken or endless.
 *
 * `<A HREF='/x?a&amp;b' id=1>` with a prefix of `/p` becomes `<A HREF='/p/x?a&amp;b' id=1>`.
 */
import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2';

/** Another URL for that of a link; undefined: it stays. */
export type ReplaceUrl = (url: string) => string | undefined;

/** Which attributes of which elements hold one URL, as HTML has or had them; upstream replaces these. */
const linkAttributes: Readonly<Record<string, readonly string[]>> = {
  a: ['href'],
  applet: ['codebase'],
  area: ['href'],
  audio: ['src'],
  base: ['href'],
  blockquote: ['cite'],
  body: ['background'],
  button: ['formaction'],
  command: ['icon'],
  del: ['cite'],
  embed: ['src'],
  form: ['action'],
  frame: ['longdesc', 'src'],
  head: ['profile'],
  html: ['manifest'],
  iframe: ['longdesc', 'src'],
  img: ['longdesc', 'src', 'usemap'],
  input: ['src', 'usemap', 'formaction'],
  ins: ['cite'],
  link: ['href'],
  object: ['classid', 'codebase', 'data', 'usemap'],
  q: ['cite'],
  script: ['src'],
  source: ['src'],
  video: ['poster', 'src'],
};
const linksOf = new Map(Object.entries(linkAttributes).map(([tag, names]) => [tag, new Set(names)]));

/** An attribute longer than this leaves unread, as does a name. */
const heldBytes = 64 * 1024;

export async function* withLinks(page: AsyncIterable<Uint8Array>, replace: ReplaceUrl): AsyncGenerator<Uint8Array> {
  const reader = new LinkReader(replace);
  for await (const bytes of page) {
    const ready = reader.read(bytes);
    if (ready.length > 0) yield ready;
  }
  yield reader.end();
}

/** Reads bytes as characters of one byte each (Latin 1): all that HTML's syntax is made of is ASCII, and what is not stays as it is. */
class LinkReader {
  readonly #replace: ReplaceUrl;
  readonly #tokenizer: Tokenizer;
  /** Not yet read: it may end in the middle of a name or an entity, which the tokenizer tells of by their place alone. */
  #tail: Uint8Array[] = [];
  #tailBytes = 0;
  /** What is being read, and the place of its first byte in the page. */
  #bytes: Buffer = Buffer.alloc(0);
  #start = 0;
  /** All before this place has left, or is held as a part of `#link`. */
  #left = 0;
  #out: Uint8Array[] = [];
  #links: ReadonlySet<string> | undefined;
  #link: Link | undefined;

  constructor(replace: ReplaceUrl) {
    this.#replace = replace;
    const nothing = () => {};
    const callbacks: TokenizerCallbacks = {
      onopentagname: (start, end) => {
        this.#links = linksOf.get(this.#text(start, end).toLowerCase());
      },
      onattribname: (start, end) => {
        if (!this.#links?.has(this.#text(start, end).toLowerCase())) return;
        this.#leave(end);
        this.#link = { held: [], heldBytes: 0, value: '' };
      },
      onattribdata: (start, end) => {
        if (this.#link) this.#link.value += this.#text(start, end);
      },
      onattribentity: (codePoint) => {
        if (this.#link) this.#link.value += toBytes(String.fromCodePoint(codePoint));
      },
      onattribend: (_quote, end) => this.#endLink(end),
      oncdata: nothing,
      onclosetag: nothing,
      oncomment: nothing,
      ondeclaration: nothing,
      onend: nothing,
      onopentagend: nothing,
      onprocessinginstruction: nothing,
      onselfclosingtag: nothing,
      ontext: nothing,
      ontextentity: nothing,
    };
    this.#tokenizer = new Tokenizer({ decodeEntities: true }, callbacks);
  }

  /** What can leave now. */
  read(bytes: Uint8Array): Buffer {
    const end = endOfWord(bytes);
    const whole = end === 0 && this.#tailBytes + bytes.length > heldBytes ? bytes.length : end;
    if (whole > 0) {
      this.#tokenize(Buffer.concat([...this.#tail, bytes.subarray(0, whole)]));
      this.#tail = [];
      this.#tailBytes = 0;
    }
    if (whole < bytes.length) {
      this.#tail.push(bytes.subarray(whole));
      this.#tailBytes += bytes.length - whole;
    }
    return this.#take();
  }

  end(): Buffer {
    // A tag that the page does not close is no tag.
    this.#out.push(...(this.#link?.held ?? []), ...this.#tail);
    return this.#take();
  }

  #tokenize(bytes: Buffer): void {
    this.#start += this.#bytes.length;
    this.#bytes = bytes;
    this.#tokenizer.write(bytes.toString('latin1'));
    const end = this.#start + bytes.length;
    if (this.#link) this.#hold(this.#link, end);
    else this.#leave(end);
  }

  #take(): Buffer {
    const out = Buffer.concat(this.#out);
    this.#out = [];
    return out;
  }

  /** Empty for a name whose beginning has gone by: none that is known is as long. */
  #text(start: number, end: number): string {
    return start < this.#start ? '' : this.#bytes.toString('latin1', start - this.#start, end - this.#start);
  }

  #upTo(end: number): Buffer {
    const from = this.#left - this.#start;
    this.#left = end;
    return this.#bytes.subarray(from, end - this.#start);
  }

  #leave(end: number): void {
    this.#out.push(this.#upTo(end));
  }

  #hold(link: Link, end: number): void {
    const bytes = this.#upTo(end);
    link.held.push(bytes);
    link.heldBytes += bytes.length;
    if (link.heldBytes <= heldBytes) return;
    this.#out.push(...link.held);
    this.#link = undefined;
  }

  #endLink(end: number): void {
    const link = this.#link;
    if (!link) return;
    this.#hold(link, end);
    // It was too long.
    if (!this.#link) return;
    this.#link = undefined;
    const replaced = this.#replace(textOf(link.value));
    if (replaced === undefined) this.#out.push(...link.held);
    else this.#out.push(Buffer.from(attributeText(link.held, replaced)));
  }
}

/** From the end of an attribute's name to its own. */
interface Link {
  readonly held: Uint8Array[];
  heldBytes: number;
  /** Without entities, a character a byte. */
  value: string;
}

/** The place behind the last byte that no name and no entity has; 0 without one. */
function endOfWord(bytes: Uint8Array): number {
  for (let end = bytes.length; end > 0; end--) if (wordEnds.has(bytes[end - 1]!)) return end;
  return 0;
}
const wordEnds: ReadonlySet<number> = new Set(Buffer.from('\t\n\f\r />='));

const toBytes = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

/** In a page of an older encoding other bytes than ASCII's are told as a URL would escape them. */
function textOf(value: string): string {
  if (!/[\x80-\xff]/.test(value)) return value;
  const text = Buffer.from(value, 'latin1').toString('utf8');
  if (toBytes(text) === value) return text;
  return value.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** In the quotes that were there, escaped as Go does. */
function attributeText(held: readonly Uint8Array[], value: string): string {
  const [, before = '=', quote = ''] = /^(\s*=\s*)(["']?)/.exec(Buffer.concat(held).toString('latin1')) ?? [];
  const escaped = value.replace(/[&'<>"]/g, (character) => escapes[character] ?? character);
  return `${before}${quote || '"'}${escaped}${quote || '"'}`;
}
const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  "'": '&#39;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
};
