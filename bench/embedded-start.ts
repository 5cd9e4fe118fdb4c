/**
 * The embedded control plane of `coracle/testing` in a fresh process, import to ready: from the package, as a user has it, and from the sources; with
 * an empty compile cache, with a full one, and a second time in the same process. The figure is the median of the package with a full cache, which is
 * what every start after a machine's first has. Processor time stands beside it, since it suffers less from what else the machine does.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Child } from './parts/child.ts';
import { median, print, rounded, say, spread } from './parts/figure.ts';
import type { EmbeddedTimes, StartEmbedded, StartTimes } from './processes/embedded.ts';

const runs = 9;
const forms = ['package', 'sources'] as const;
type Form = StartEmbedded['form'];

const root = resolve(import.meta.dirname, '..');
execFileSync(process.execPath, [join(root, 'scripts/build.ts')], { stdio: ['ignore', 2, 2] });
const folder = mkdtempSync(join(tmpdir(), 'coracle-bench-'));
try {
  const cold = { package: [] as EmbeddedTimes[], sources: [] as EmbeddedTimes[] };
  const warm = { package: [] as EmbeddedTimes[], sources: [] as EmbeddedTimes[] };
  for (const form of forms) await start(form, warmCache(form));
  // Alternately, so that all see the same machine.
  for (let run = 0; run < runs; run++)
    for (const form of forms) {
      cold[form].push(await start(form, join(folder, `cold-${form}-${run}`)));
      warm[form].push(await start(form, warmCache(form)));
      say(`run ${run + 1} of ${runs}, ${form}: cold ${told(cold[form].at(-1))}, warm ${told(warm[form].at(-1))}`);
    }
  const first = (times: readonly EmbeddedTimes[]) => times.map((time) => time.first);
  const readyMs = (times: readonly StartTimes[]) => median(times.map((time) => time.readyMs));
  const cpuMs = (times: readonly StartTimes[]) => median(times.map((time) => time.cpuMs));
  const second = warm.package.flatMap((time) => time.second ?? []);
  print({
    name: 'embedded-start',
    what: 'embedded control plane, import to ready, from the package, warm compile cache',
    figure: readyMs(first(warm.package)),
    unit: 'ms',
    target: 200,
    better: 'lower',
    note: [
      `processor time ${rounded(cpuMs(first(warm.package)))} ms`,
      `from the sources ${rounded(readyMs(first(warm.sources)))} ms (processor ${rounded(cpuMs(first(warm.sources)))} ms)`,
      `cold ${rounded(readyMs(first(cold.package)))} ms`,
      `second in the same process ${rounded(readyMs(second))} ms`,
    ].join('; '),
    details: {
      runs,
      runtimeMs: rounded(median(warm.package.map((time) => time.runtimeMs))),
      warm: details(first(warm.package)),
      cold: details(first(cold.package)),
      second: details(second),
      sources: { warm: details(first(warm.sources)), cold: details(first(cold.sources)) },
    },
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function warmCache(form: Form): string {
  return join(folder, `warm-${form}`);
}

async function start(form: Form, cache: string): Promise<EmbeddedTimes> {
  await using child = new Child('embedded', { environment: { NODE_COMPILE_CACHE: cache } });
  const request: StartEmbedded = { kind: 'start', form };
  const times = await child.ask<EmbeddedTimes>(request);
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
