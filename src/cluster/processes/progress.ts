/**
 * What `up` tells while it works, as events: the same whether they are printed at once or travel from a process in the background to
 * the one that started it.
 */
import type { Clock } from '../../base/clock.ts';
import { CommandError } from '../command-error.ts';

export type ProgressEvent =
  /** A step that takes a while has begun; the next `done` ends it. */
  | { readonly kind: 'begin'; readonly step: string }
  /** What the step waits for just now. */
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'done'; readonly step: string; readonly tookMs: number }
  | { readonly kind: 'say'; readonly text: string }
  /** What was started is usable; `next` are the commands to type, after the sentence `what`. */
  | { readonly kind: 'ready'; readonly what: string; readonly next: readonly string[] }
  | { readonly kind: 'failed'; readonly problem: string; readonly advice: string };

export type Report = (event: ProgressEvent) => void;

export interface ProgressOutput {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** A line per step with its time; on a terminal the line of the step at work is rewritten in place. */
export function printProgress(output: ProgressOutput): Report {
  let current: string | undefined;
  const rewrites = output.isTTY === true;
  const show = (text: string) => {
    const width = (output.columns || 80) - 1;
    output.write(`\r\u001b[2K${text.length > width ? `${text.slice(0, width - 1)}…` : text}`);
  };
  const line = (text: string) => output.write(rewrites ? `\r\u001b[2K${text}\n` : `${text}\n`);
  return (event) => {
    switch (event.kind) {
      case 'begin':
        current = event.step;
        if (rewrites) show(`  … ${event.step}`);
        return;
      case 'note':
        if (rewrites) show(`  … ${current ?? ''}: ${event.text}`);
        return;
      case 'done':
        current = undefined;
        line(`  ✓ ${event.step} (${seconds(event.tookMs)})`);
        return;
      case 'say':
        line(event.text);
        return;
      case 'ready':
        line(['', event.what, ...event.next.map((command) => `  ${command}`), ''].join('\n'));
        return;
      case 'failed':
        if (rewrites && current) output.write('\r\u001b[2K');
        current = undefined;
    }
  };
}

/** Runs steps that tell how many of how many objects are done. */
export function reportStep(report: Report, clock: Clock) {
  return async <T>(step: string, work: (told: (done: number, all: number) => void) => Promise<T>): Promise<T> => {
    const startedMs = clock.monotonic();
    report({ kind: 'begin', step });
    const result = await work((done, all) => report({ kind: 'note', text: `${count(done)} of ${count(all)} objects` }));
    report({ kind: 'done', step, tookMs: clock.monotonic() - startedMs });
    return result;
  };
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** The failure that a `failed` event carries. */
export function failureOf(event: Extract<ProgressEvent, { kind: 'failed' }>): CommandError {
  return new CommandError(event.problem, event.advice);
}
