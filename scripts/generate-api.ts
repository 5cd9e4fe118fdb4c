/**
 * Derives the API from `facts/v1.36`: TypeScript types and resource descriptors (`src/apimachinery/gen`, `src/api/gen`) and the
 * kind tables (`src/api/gen/schema.json`). The output depends on nothing but the facts, so `--check` can tell whether it is stale.
 *
 *     node scripts/generate-api.ts           writes
 *     node scripts/generate-api.ts --check   exits 1 and names the files that would change
 */
import { schemaDocument } from './api-schema.ts';
import { typescriptModules } from './api-types.ts';
import { publish, readFacts } from './generated-files.ts';

const facts = readFacts('v1.36/v1.36.json');
const schema = schemaDocument(facts, readFacts('v1.36/discovery.json'), readFacts('v1.36/selectors.json'));
publish(new Map([...typescriptModules(facts), ['src/api/gen/schema.json', schema]]), [
  'src/api/gen',
  'src/apimachinery/gen',
]);
