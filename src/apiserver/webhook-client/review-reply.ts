/**
 * Reading what a webhook answers where every request waits for it: a review of the expected kind, of whose fields nothing is
 * taken on trust.
 */
import { quote } from '../../apimachinery/go-text.ts';
import { parseApiVersion } from '../../apimachinery/resource.ts';
import type { ReviewObject } from './exchange.ts';

/** The reply's status. Throws for a reply of another kind. */
export function reviewStatus(reply: ReviewObject, expected: { readonly group: string; readonly kind: string }) {
  const { kind, apiVersion, status } = reply;
  if (typeof kind !== 'string' || kind === '') throw new Error("Object 'Kind' is missing in the webhook's reply");
  if (typeof apiVersion !== 'string' || kind !== expected.kind || parseApiVersion(apiVersion).group !== expected.group)
    throw new Error(`the webhook replied with kind ${quote(kind)} of version ${quote(String(apiVersion))}`);
  return new ReplyFields(status ?? {}, 'status');
}

/** Fields as they are needed; a field of another type than it must be fails the reply. */
export class ReplyFields {
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #path: string;

  constructor(value: unknown, path: string) {
    if (!isObject(value)) throw wrong(path, 'an object');
    this.#value = value;
    this.#path = path;
  }

  flag(name: string): boolean {
    const value = this.#get(name) ?? false;
    if (typeof value !== 'boolean') throw wrong(this.#at(name), 'true or false');
    return value;
  }

  text(name: string): string {
    const value = this.#get(name) ?? '';
    if (typeof value !== 'string') throw wrong(this.#at(name), 'a text');
    return value;
  }

  texts(name: string): readonly string[] {
    return textsOf(this.#get(name) ?? [], this.#at(name));
  }

  /** A map of texts. */
  textMap(name: string): Readonly<Record<string, string>> {
    const value = this.#get(name) ?? {};
    if (!isObject(value) || Object.values(value).some((item) => typeof item !== 'string'))
      throw wrong(this.#at(name), 'a map of texts');
    return value as Readonly<Record<string, string>>;
  }

  fields(name: string): ReplyFields {
    return new ReplyFields(this.#get(name) ?? {}, this.#at(name));
  }

  /** A map of lists of texts; undefined where there is none. */
  textLists(name: string): Readonly<Record<string, readonly string[]>> | undefined {
    const value = this.#get(name);
    if (value === undefined || value === null) return undefined;
    if (!isObject(value)) throw wrong(this.#at(name), 'an object');
    const lists = Object.entries(value).map(([key, list]) => [key, textsOf(list ?? [], this.#at(name))] as const);
    return Object.fromEntries(lists);
  }

  #get(name: string): unknown {
    return Object.hasOwn(this.#value, name) ? this.#value[name] : undefined;
  }

  #at(name: string): string {
    return `${this.#path}.${name}`;
  }
}

function textsOf(value: unknown, at: string): readonly string[] {
  if (!Array.isArray(value) || value.some((item) => typeof item !== 'string')) throw wrong(at, 'a list of texts');
  return value as readonly string[];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wrong(at: string, expected: string): Error {
  return new Error(`the webhook's reply cannot be read: ${at} is not ${expected}`);
}
