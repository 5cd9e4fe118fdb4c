/** The table of API groups says what the server serves: which versions by default, which on request, behind which gate. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { builtinSchema } from '../src/api/schema.ts';
import { type ResourceConfig, ServedResources } from '../src/apiserver/resources.ts';
import { projectRoot } from './source-files.ts';

interface Row {
  readonly group: string;
  readonly byDefault: readonly string[];
  readonly onRequest: readonly string[];
}

function written(): Row[] {
  const page = readFileSync(join(projectRoot, 'docs/compatibility.md'), 'utf8');
  const [, section = ''] = page.split('### Groups\n');
  const [, ...lines] = section
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => /^\| (`|core|group)/.test(line));
  const cells = (cell: string) => (cell === 'none' ? [] : cell.split(/, (?=`v)/));
  return lines.map((line) => {
    const [, group = '', byDefault = '', onRequest = '', does = ''] = line.split('|').map((cell) => cell.trim());
    assert.notEqual(does, '', `${group}: what does it do?`);
    return { group, byDefault: cells(byDefault), onRequest: cells(onRequest) };
  });
}

/** Served versions of each group, as the table writes them, in the order of discovery. */
function served(config: ResourceConfig): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { row } of new ServedResources(config).all()) {
    const key = `${row.group}/${row.version}`;
    found.set(key, (found.get(key) ?? new Set()).add(row.gate ?? ''));
  }
  return found;
}

test('the table of groups is what is served', () => {
  const { groups, gates } = builtinSchema().document;
  const featureGates = Object.fromEntries(gates.map(({ gate }) => [gate, true]));
  const common = served({});
  const all = served({ runtimeConfig: { 'api/all': true }, featureGates });
  const expected = groups.map(({ group, versions }): Row => {
    const known = versions.filter(({ version }) => all.has(`${group}/${version}`));
    const inDefault = ({ version }: { readonly version: string }) => common.has(`${group}/${version}`);
    return {
      group: group === '' ? 'core' : `\`${group}\``,
      byDefault: known.filter(inDefault).map(({ version }) => `\`${version}\``),
      onRequest: known
        .filter((version) => !inDefault(version))
        .map(({ version }) => {
          const needed = [...all.get(`${group}/${version}`)!].filter((gate) => gate !== '').sort();
          return `\`${version}\`${needed.length > 0 ? ` (${needed.map((gate) => `\`${gate}\``).join(', ')})` : ''}`;
        }),
    };
  });
  assert.deepEqual(written(), expected);
});
