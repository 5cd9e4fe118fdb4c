/**
 * Runs the programs of this folder one after the other, all or those named, and prints a table with the target beside each. What takes long
 * is left out: `kubelet-idle`, `node-full`, `simulation`. `--json FILE` keeps the lines too; `--markdown` prints the table as `README.md` has it.
 */
import { spawn } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Figure } from './parts/figure.ts';

export const programs = [
  'embedded-start',
  'cluster-start',
  'idle-memory',
  'durable-creates',
  'write-path',
  'list-pods',
  'pod-memory',
  'watch-fanout',
  'pod-start',
  'start-with-objects',
  'store',
  'heartbeats',
  'hostile-clients',
  'flow-control',
  'custom-resources',
  'garbage-collection',
] as const;

type Measured = Figure & { readonly reached?: boolean };

const { values, positionals } = parseArgs({
  options: { json: { type: 'string' }, markdown: { type: 'boolean' } },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !(programs as readonly string[]).includes(name));
if (unknown.length > 0) {
  process.stderr.write(`no such benchmark: ${unknown.join(', ')}. There are: ${programs.join(', ')}\n`);
  process.exit(2);
}
const headings = ['what', 'measured', 'target', 'reached', 'besides'];
if (values.json) writeFileSync(values.json, '');
const figures: Measured[] = [];
let failed = false;
for (const name of programs) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  process.stderr.write(`${name}\n`);
  const line = await output(name);
  if (line === undefined) {
    failed = true;
    continue;
  }
  if (values.json) appendFileSync(values.json, `${line}\n`);
  figures.push(JSON.parse(line) as Measured);
}
process.stdout.write(values.markdown ? markdown(figures) : table(figures));
process.exitCode = failed ? 1 : 0;

/** The program's line; undefined when it failed, which it has told on stderr. */
function output(name: string): Promise<string | undefined> {
  const program = join(import.meta.dirname, `${name}.ts`);
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return new Promise((resolve) => child.once('close', (code) => resolve(code === 0 ? text.trim() : undefined)));
}

function rows(measured: readonly Measured[]): string[][] {
  return measured.map(({ what, figure, unit, target, better, reached, note, rival }) => [
    what,
    figure === undefined ? '-' : `${figure} ${unit}`,
    target === undefined ? '-' : `${better === 'lower' ? '<=' : '>='} ${target} ${unit}`,
    reached === undefined ? '-' : reached ? 'yes' : 'no',
    [note, rival && `${rival.name} in the same run: ${rival.figure} (${rival.ratio}x)`].filter(Boolean).join('; '),
  ]);
}

function table(measured: readonly Measured[]): string {
  const lines = [headings, ...rows(measured)];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, column) => cell.padEnd(widths[column]!))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function markdown(measured: readonly Measured[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  return [headings, headings.map(() => '---'), ...rows(measured)].map(line).join('');
}
