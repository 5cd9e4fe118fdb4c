/**
 * `npm run conformance`: how many of upstream's conformance tests have a counterpart here, area by area, and which are missing. With
 * `--run` they run too, and what fails is named. Ends with 0 only when none is missing and, with `--run`, none failed.
 */
import { run } from 'node:test';
import { conformanceFiles, conformanceMarks, conformanceNames } from './conformance-marks.ts';

const areaOf = (name: string) => /^\[(sig-[^\]]+)\]/.exec(name)?.[1] ?? name;

const names = conformanceNames();
const marked = new Set(conformanceMarks().map(({ name }) => name));
const missing = names.filter((name) => !marked.has(name));

for (const area of new Set(names.map(areaOf))) {
  const all = names.filter((name) => areaOf(name) === area);
  const done = all.filter((name) => marked.has(name));
  console.log(`${area.padEnd(22)} ${String(done.length).padStart(3)} of ${String(all.length).padStart(3)}`);
}
console.log(`${'all'.padEnd(22)} ${String(names.length - missing.length).padStart(3)} of ${names.length}`);
if (missing.length > 0) console.log(`\nmissing:\n${missing.map((name) => `  ${name}`).join('\n')}`);

const failed = process.argv.includes('--run') ? await runAll() : [];
process.exit(missing.length > 0 || failed.length > 0 ? 1 : 0);

/** The names of the tests that failed; those that say nothing at all failed too. */
async function runAll(): Promise<readonly string[]> {
  const passed = new Set<string>();
  console.log('');
  for await (const { type, data } of run({ files: [...conformanceFiles], concurrency: 1, timeout: 120_000 })) {
    if (type === 'test:pass' && data.skip === undefined) passed.add(data.name);
    if (type === 'test:fail') console.log(`FAILED ${data.name}\n  ${String(data.details.error.cause)}`);
  }
  const failures = [...marked].filter((name) => !passed.has(name));
  console.log(`${marked.size - failures.length} of ${marked.size} passed`);
  for (const name of failures) console.log(`  failed: ${name}`);
  return failures;
}
