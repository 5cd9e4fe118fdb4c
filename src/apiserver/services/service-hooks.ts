/** Joins the allocator to the registry: what the resource `services` does before a write, after it, and after a deletion. */
import type { Service } from '../../api/gen/core-v1.ts';
import type { Draft } from '../../apimachinery/meta.ts';
import type { ResourceHooks } from '../registry/resource-hooks.ts';
import type { ServiceAllocator } from './service-allocator.ts';

/** `allocator` resolves with the same one each time; it is asked for when the first Service comes. */
export function serviceHooks(allocator: () => Promise<ServiceAllocator>): ResourceHooks {
  return {
    beginCreate: async (object, context) => (await allocator()).allocate(object as Draft<Service>, undefined, context),
    beginUpdate: async (object, previous, context) =>
      (await allocator()).allocate(object as Draft<Service>, previous as Service, context),
    afterDelete: async (object) => (await allocator()).release(object as Service),
  };
}
