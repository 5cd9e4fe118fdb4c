/** Durations as the `duration` format of OpenAPI takes them: Go's (`1h30m`), or numbers and units in words (`2 days`). */
import { parseDuration } from '../times.ts';

const second = 1_000_000_000n;

/** Each unit in nanoseconds, by the spellings that stand for it alone, and the one that may go on (`min`, `minutes`). */
const units: readonly { readonly nanos: bigint; readonly exact: readonly string[]; readonly stem: string }[] = [
  { nanos: 1n, exact: ['ns'], stem: 'nano' },
  { nanos: 1000n, exact: ['us', 'µs'], stem: 'micro' },
  { nanos: 1_000_000n, exact: ['ms'], stem: 'milli' },
  { nanos: second, exact: ['s'], stem: 'sec' },
  { nanos: 60n * second, exact: ['m'], stem: 'min' },
  { nanos: 3600n * second, exact: ['h', 'hr'], stem: 'hour' },
  { nanos: 86_400n * second, exact: ['d'], stem: 'day' },
  { nanos: 604_800n * second, exact: ['w', 'wk'], stem: 'week' },
];

/** Nanoseconds; undefined where the text is no duration. What is between numbers with units is overlooked, as upstream does. */
export function durationNanos(text: string): bigint | undefined {
  const plain = parseDuration(text);
  if (plain !== undefined) return plain;
  let total: bigint | undefined;
  for (const [, count, word] of text.matchAll(/(\d+)\s*([A-Za-zµ]+)/g)) {
    const name = word!.toLowerCase();
    const unit = units.find(({ exact, stem }) => exact.includes(name) || name.startsWith(stem));
    if (unit) total = (total ?? 0n) + BigInt.asIntN(64, BigInt(count!)) * unit.nanos;
  }
  return total === undefined ? undefined : BigInt.asIntN(64, total);
}
