/**
 * Derives the API from `facts/v1.36`: TypeScript types and resource descriptors (`src/apimachinery/gen`, `src/api/gen`) and the
 * kind tables (`src/api/gen/schema.json`). The output depends on nothing but the facts, so `--check` can tell whether it is stale.
 *
 *     node scripts/generate-api.ts           writes
 *     node scripts/generate-api.ts --check   exits 1 and names the files that would change
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { schemaDocument } from './generate-schema.ts';
import { typescriptModules } from './generate-types.ts';

const root = join(import.meta.dirname, '..');

function readFacts(name: string) {
  return JSON.parse(readFileSync(join(root, 'facts/v1.36', `${name}.json`), 'utf8'));
}

const facts = readFacts('v1.36');
const output = new Map<string, string>(typescriptModules(facts));
output.set('src/api/gen/schema.json', schemaDocument(facts, readFacts('discovery'), readFacts('selectors')));

const stale: string[] = [];
for (const [path, text] of output) {
  const file = join(root, path);
  if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
  stale.push(path);
}
for (const folder of ['src/api/gen', 'src/apimachinery/gen']) {
  if (!existsSync(join(root, folder))) continue;
  for (const name of readdirSync(join(root, folder)))
    if (!output.has(`${folder}/${name}`)) stale.push(`${folder}/${name}`);
}

if (process.argv.includes('--check')) {
  for (const path of stale) console.error(`stale: ${path}`);
  process.exitCode = stale.length > 0 ? 1 : 0;
} else {
  for (const path of stale) {
    const text = output.get(path);
    if (text === undefined) rmSync(join(root, path));
    else {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
  }
  console.log(`${output.size} files, ${stale.length} changed`);
}
