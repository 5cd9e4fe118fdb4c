/** Where the resources lie that the server brings with it, as keys of the store. */
import { builtinResources } from '../../api/schema.ts';
import { groupResource } from '../../apimachinery/resource.ts';
import type { KeptResource } from '../../apiserver/encryption/resource-of-key.ts';

export function builtinPlaces(): readonly KeptResource[] {
  return builtinResources()
    .filter((row) => row.storagePrefix !== undefined)
    .map((row) => ({ prefix: `/registry/${row.storagePrefix}/`, name: groupResource(row) }));
}
