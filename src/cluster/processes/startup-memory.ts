/**
 * Starting needs twice the memory that running does: modules, tables and first lists. What is garbage by then is given back at once
 * instead of when the heap happens to fill, which on an idle cluster is never.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '../../base/clock.ts';

const settledMs = 3000;

export function returnStartupMemory(clock: Clock): void {
  clock.after(settledMs, () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as (options: object) => void;
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  });
}
