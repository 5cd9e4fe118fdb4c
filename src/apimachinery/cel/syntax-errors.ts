/**
 * How the parser goes on after a mistake, so that an expression's other mistakes are found too, and told in the words users know
 * from other implementations: a token too many is skipped ("extraneous input"), a token too few is made up ("missing"),
 * and otherwise what follows is skipped up to where some rule under way can continue ("mismatched input").
 *
 * After a mistake nothing is reported until a token matches again: what comes right after it is likely its consequence.
 */
import type { Issues } from './issues.ts';
import { endOfInput, type Token } from './lexer.ts';

/** In the order in which messages list what was expected. */
const tokenOrder = [
  endOfInput, "'=='", "'!='", "'in'", "'<'", "'<='", "'>='", "'>'", "'&&'", "'||'", "'['", "']'", "'{'", "'}'", "'('", "')'", "'.'", "','", "'-'", "'!'", "'?'", "':'", "'+'", "'*'", "'/'", "'%'", "'true'", "'false'", "'null'", 'NUM_FLOAT', 'NUM_INT', 'NUM_UINT', 'STRING', 'BYTES', 'IDENTIFIER', 'ESC_IDENTIFIER',
]; // biome-ignore format: a row of tokens

export type TokenSet = ReadonlySet<string>;

export const tokens = (...kinds: readonly string[]): TokenSet => new Set(kinds);

/** What an operand can begin with. */
export const operandStart = tokens(
  "'['",
  "'{'",
  "'('",
  "'.'",
  "'-'",
  "'!'",
  "'true'",
  "'false'",
  "'null'",
  'NUM_FLOAT',
  'NUM_INT',
  'NUM_UINT',
  'STRING',
  'BYTES',
  'IDENTIFIER',
);

/** Thrown when parsing cannot go on at all; the issue is reported already. */
export class ParseAbandoned extends Error {}

const recoveryLimit = 30;
const skippedTokensLimit = 512;

export class TokenReader {
  readonly #tokens: readonly Token[];
  readonly #issues: Issues;
  /** For each rule under way, what can come after the rule that it called. */
  readonly #follow: TokenSet[] = [];
  #position = 0;
  #recovering = false;
  #recoveries = 0;
  #lastMistake = -1;

  constructor(tokenList: readonly Token[], issues: Issues) {
    this.#tokens = tokenList;
    this.#issues = issues;
  }

  get current(): Token {
    return this.ahead(0);
  }

  get kind(): string {
    return this.ahead(0).kind;
  }

  ahead(count: number): Token {
    return this.#tokens[Math.min(this.#position + count, this.#tokens.length - 1)]!;
  }

  /** Takes the current token, which the caller knows to fit. */
  take(): Token {
    const token = this.current;
    this.#recovering = false;
    this.#position = Math.min(this.#position + 1, this.#tokens.length - 1);
    return token;
  }

  takeIf(kind: string): Token | undefined {
    return this.kind === kind ? this.take() : undefined;
  }

  /** Runs a rule after which, within its caller, one of `follow` can come. */
  within<T>(follow: TokenSet, rule: () => T): T {
    this.#follow.push(follow);
    const result = rule();
    this.#follow.pop();
    return result;
  }

  /** Takes a token of `kind`, after which one of `next` (or what the callers allow, if it may end a rule) must come. */
  expect(kind: string, next: TokenSet, mayEnd = false): Token | undefined {
    if (this.kind === kind) return this.take();
    this.#countRecovery();
    const { current } = this;
    if (this.ahead(1).kind === kind) {
      this.#report(current, `extraneous input '${current.text}' expecting ${kind}`);
      this.#advance();
      return this.take();
    }
    if (next.has(current.kind) || (mayEnd && this.#recoverySet().has(current.kind))) {
      this.#report(current, `missing ${kind} at '${current.text}'`);
      return { kind, text: kind, offset: current.offset };
    }
    this.mismatch(tokens(kind));
    return undefined;
  }

  /** Whether one of `allowed` comes; one token too many is skipped, anything else is a mismatch. */
  begins(allowed: TokenSet): boolean {
    if (allowed.has(this.kind)) return true;
    if (this.#recovering) return false;
    const { current } = this;
    if (current.kind !== endOfInput && allowed.has(this.ahead(1).kind)) {
      this.#report(current, `extraneous input '${current.text}' expecting ${listed(allowed)}`);
      this.#advance();
      this.#recovering = false;
      return true;
    }
    this.mismatch(allowed);
    return false;
  }

  mismatch(expected: TokenSet): void {
    this.#report(this.current, `mismatched input '${this.current.text}' expecting ${listed(expected)}`);
    this.recover();
  }

  /** Nothing that begins like this goes on with the token at `ahead`. */
  noViableAlternative(ahead: number): void {
    const seen = this.#tokens
      .slice(this.#position, this.#position + ahead + 1)
      .filter(({ kind }) => kind !== endOfInput);
    const offending = this.ahead(ahead);
    const isKeyword = /^'(true|false|null)'$/.test(offending.kind);
    if (isKeyword && seen.length === 2)
      this.#report(offending, `mismatched input '${offending.text}' expecting IDENTIFIER`);
    else this.#report(offending, `no viable alternative at input '${seen.map(({ text }) => text).join('')}'`);
    this.recover();
  }

  /** Skips to where some rule under way can go on. */
  recover(): void {
    this.#countRecovery();
    if (this.#lastMistake === this.#position) this.#advance();
    this.#lastMistake = this.#position;
    const resume = this.#recoverySet();
    let skipped = 0;
    while (this.kind !== endOfInput && !resume.has(this.kind)) {
      this.#advance();
      if (++skipped > skippedTokensLimit)
        this.#abandon(`error recovery token lookahead limit exceeded: ${skippedTokensLimit}`);
    }
  }

  #recoverySet(): TokenSet {
    return new Set(this.#follow.flatMap((follow) => [...follow]));
  }

  #advance(): void {
    this.#position = Math.min(this.#position + 1, this.#tokens.length - 1);
  }

  #countRecovery(): void {
    if (++this.#recoveries <= recoveryLimit) return;
    this.#issues.report(this.current.offset, `Syntax error: error recovery attempt limit exceeded: ${recoveryLimit}`);
    throw new ParseAbandoned();
  }

  #abandon(message: string): never {
    this.#issues.reportNowhere(message);
    throw new ParseAbandoned();
  }

  #report(at: Token, message: string): void {
    if (!this.#recovering) this.#issues.report(at.offset, `Syntax error: ${message}`);
    this.#recovering = true;
  }
}

function listed(expected: TokenSet): string {
  const names = tokenOrder.filter((kind) => expected.has(kind));
  return names.length === 1 ? names[0]! : `{${names.join(', ')}}`;
}
