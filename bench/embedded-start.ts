/**
 * The embedded control plane of `coracle/testing` in a fresh process, import to ready: with an empty compile cache, with a full one, and a
 * second time in the same process. The figure is the median with a full cache, which is what every start after a machine's first has.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Child } from './parts/child.ts';
import { median, print, rounded, say, spread } from './parts/figure.ts';
import type { EmbeddedTimes, StartTimes } from './processes/embedded.ts';

const runs = 9;

const folder = mkdtempSync(join(tmpdir(), 'coracle-bench-'));
try {
  const cold: EmbeddedTimes[] = [];
  const warm: EmbeddedTimes[] = [];
  // Alternately, so that both see the same machine.
  await start(join(folder, 'warm'));
  for (let run = 0; run < runs; run++) {
    cold.push(await start(join(folder, `cold-${run}`)));
    warm.push(await start(join(folder, 'warm')));
    say(`run ${run + 1} of ${runs}: cold ${told(cold.at(-1))}, warm ${told(warm.at(-1))}`);
  }
  const first = (times: readonly EmbeddedTimes[]) => times.map((time) => time.first);
  const second = warm.flatMap((time) => time.second ?? []);
  print({
    name: 'embedded-start',
    what: 'embedded control plane, import to ready, warm compile cache',
    figure: median(first(warm).map((time) => time.readyMs)),
    unit: 'ms',
    target: 200,
    better: 'lower',
    note: `cold ${rounded(median(first(cold).map((time) => time.readyMs)))} ms; second in the same process ${rounded(median(second.map((time) => time.readyMs)))} ms`,
    details: {
      runs,
      runtimeMs: rounded(median(warm.map((time) => time.runtimeMs))),
      warm: details(first(warm)),
      cold: details(first(cold)),
      second: details(second),
    },
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function start(cache: string): Promise<EmbeddedTimes> {
  await using child = new Child('embedded', { environment: { NODE_COMPILE_CACHE: cache } });
  const times = await child.ask<EmbeddedTimes>({ kind: 'start' });
  await child.kill('SIGTERM');
  return times;
}

function told(times: EmbeddedTimes | undefined): string {
  return `${rounded(times?.first.readyMs)} ms`;
}

function details(times: readonly StartTimes[]) {
  const of = (key: keyof StartTimes) => rounded(median(times.map((time) => time[key])));
  return {
    readyMs: spread(times.map((time) => time.readyMs)),
    importedMs: of('importedMs'),
    startedMs: of('startedMs'),
    readyzMs: of('readyzMs'),
    serviceAccountMs: of('serviceAccountMs'),
    podsMs: of('podsMs'),
    cpuMs: of('cpuMs'),
  };
}
