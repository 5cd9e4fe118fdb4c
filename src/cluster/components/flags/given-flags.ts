/**
 * The flags of one start, with their types. It remembers which were asked about: a flag that was given and that nobody asked about has
 * no effect, and the user is told so.
 */
import { parseDuration } from '../../../apimachinery/time.ts';
import { checkedGates, type FeatureGates } from '../../../serving/feature-gates.ts';
import type { ParsedFlags } from '../../../serving/flags.ts';

export class GivenFlags {
  /** For readers that take the parser's own form; what they look up counts as asked about. */
  readonly parsed: ParsedFlags;
  /** What the log should say of them once there is one. */
  readonly warnings = new Set<string>();
  readonly #asked = new Set<string>();

  constructor(parsed: ParsedFlags) {
    this.parsed = { ...parsed, values: new WatchedMap(parsed.values, (name) => this.#asked.add(name)) };
  }

  isGiven(name: string): boolean {
    return this.parsed.given.has(name);
  }

  text(name: string): string {
    return String(this.parsed.values.get(name) ?? '');
  }

  /** Undefined for an empty text. */
  optionalText(name: string): string | undefined {
    return this.text(name) || undefined;
  }

  flag(name: string): boolean {
    return this.parsed.values.get(name) === true;
  }

  number(name: string): number {
    return Number(this.parsed.values.get(name) ?? 0);
  }

  milliseconds(name: string): number {
    return parseDuration(this.text(name)) ?? 0;
  }

  list(name: string): readonly string[] {
    return (this.parsed.values.get(name) as readonly string[] | undefined) ?? [];
  }

  map<T = string>(name: string): Readonly<Record<string, T>> {
    return (this.parsed.values.get(name) as Readonly<Record<string, T>> | undefined) ?? {};
  }

  /** `--feature-gates`. Throws a `FlagError`. */
  featureGates(): FeatureGates {
    const { gates, warnings } = checkedGates(this.map<boolean>('feature-gates'));
    for (const warning of warnings) this.warnings.add(warning);
    return gates;
  }

  /** Given, and of no consequence. */
  withoutEffect(): string[] {
    return [...this.parsed.given].filter((name) => !this.#asked.has(name)).sort();
  }
}

class WatchedMap extends Map<string, unknown> {
  readonly #onGet: (name: string) => void;

  constructor(entries: ReadonlyMap<string, unknown>, onGet: (name: string) => void) {
    super(entries);
    this.#onGet = onGet;
  }

  override get(name: string): unknown {
    this.#onGet(name);
    return super.get(name);
  }
}
