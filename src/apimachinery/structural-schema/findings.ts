/**
 * What a walk over a value found wrong so far, and where it stands. The errors are those of upstream's OpenAPI validator as its API
 * server passes them on: the sentence names the place (`spec.size in body ...`), the error's field repeats it, and what is no error of
 * one value (a failed alternative, a number beyond its type) has no place, which upstream prints as `<nil>`.
 */
import { type FieldError, FieldPath, invalid, required, typeInvalid } from '../field-error.ts';
import { quote } from '../go-text.ts';
import type { Correlation } from './correlation.ts';

interface Finding {
  readonly error: FieldError;
  /** Tells findings apart: the same one is reported once, however many ways led to it. */
  readonly sentence: string;
}

export class Findings {
  /** Steps to the value at hand, each as it is written: `spec`, `.items`, `[0]`. */
  readonly path: string[] = [];
  /** Set where unchanged errors are let pass. */
  readonly correlation: Correlation | undefined;
  readonly #at: FieldPath | undefined;
  #found: Finding[] = [];

  constructor(at: FieldPath | undefined, correlation?: Correlation) {
    this.#at = at;
    this.correlation = correlation;
  }

  get count(): number {
    return this.#found.length;
  }

  /** Forgets what was found after there were `count`. */
  forget(count: number): void {
    this.#found.length = count;
  }

  /** Runs a check whose findings may not count, and hands them over. */
  apart(check: () => number): Attempt {
    const before = this.#found;
    this.#found = [];
    const matches = check();
    const attempt = { matches, found: this.#found };
    this.#found = before;
    return attempt;
  }

  accept({ found }: Attempt): void {
    this.#found.push(...found);
  }

  errors(): FieldError[] {
    const distinct = new Map<string, FieldError>();
    for (const { sentence, error } of this.#found) if (!distinct.has(sentence)) distinct.set(sentence, error);
    return [...distinct.values()];
  }

  /** The place of the value at hand as sentences have it. */
  where(): string {
    return this.path.join('');
  }

  missing(key: string): void {
    const name = `${this.where()}.${key}`;
    this.#add(`${name} in body is required`, required(this.#field(name)));
  }

  /** `found` is the value's type, or the value itself where its form is wrong. */
  mistyped(expected: string, found: string): void {
    const sentence = `${this.where()} in body must be of type ${expected}: ${quote(found)}`;
    this.#add(sentence, typeInvalid(this.#here(), found, sentence));
  }

  /** `demand` completes the sentence: `should match '^a'`. */
  unfit(value: unknown, demand: string): void {
    const sentence = `${this.where()} in body ${demand}`;
    this.#add(sentence, invalid(this.#here(), value, sentence));
  }

  notAllowed(key: string): void {
    const sentence = `${this.where()}.${key} in body is a forbidden property`;
    this.#add(sentence, invalid(this.#here(), key, sentence));
  }

  /** An error of a form of its own; `demand` only tells it apart. */
  special(demand: string, error: (at: FieldPath) => FieldError): void {
    this.#add(`${this.where()} in body ${demand}`, error(this.#here()));
  }

  /** What upstream reports without a place. */
  unplaced(sentence: string): void {
    this.#add(sentence, invalid(this.#at ?? nowhere, '', sentence));
  }

  #add(sentence: string, error: FieldError): void {
    this.#found.push({ sentence, error });
  }

  #here(): FieldPath {
    return this.#field(this.where());
  }

  #field(name: string): FieldPath {
    if (name === '' || name === '.') return this.#at ?? nowhere;
    const step = name.startsWith('.') ? name.slice(1) : name;
    return this.#at ? this.#at.child(step) : new FieldPath(step);
  }
}

/** What a check apart found, and how much of the value it found right. */
export interface Attempt {
  readonly matches: number;
  readonly found: readonly Finding[];
}

const nowhere = new FieldPath('<nil>');
