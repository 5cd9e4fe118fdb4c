/**
 * A reporter for `node --test` that prints failures in full, the slowest tests, and one closing line of counts.
 */
import type { TestEvent } from 'node:test/reporters';

const slowestShown = 12;

export default async function* reporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const durations: { readonly name: string; readonly ms: number }[] = [];
  for await (const event of source) {
    if (event.type === 'test:pass' || event.type === 'test:fail') {
      const { data } = event;
      const isLeftOut = data.skip !== undefined && data.skip !== false;
      // What a suite comes to, its tests tell; one that is left out has none.
      if (data.details.type === 'suite' && !isLeftOut) continue;
      const place = data.file ? `${data.file.slice(data.file.lastIndexOf('/src/') + 1)}: ` : '';
      if (isLeftOut) {
        counts.skipped++;
        yield `skipped ${place}${data.name}: ${String(data.skip)}\n`;
      } else if (event.type === 'test:pass') counts.passed++;
      else {
        counts.failed++;
        const error = event.data.details.error;
        const cause = error.cause instanceof Error ? error.cause : error;
        yield `\nFAILED ${place}${data.name}\n${cause.stack ?? String(cause)}\n`;
      }
      durations.push({ name: `${place}${data.name}`, ms: data.details.duration_ms });
    } else if (event.type === 'test:stderr' && /Error|error:/.test(event.data.message)) yield event.data.message;
  }
  durations.sort((a, b) => b.ms - a.ms);
  yield '\nslowest tests:\n';
  for (const { name, ms } of durations.slice(0, slowestShown)) yield `  ${Math.round(ms)} ms  ${name}\n`;
  yield `\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`;
}
