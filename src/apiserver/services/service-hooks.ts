/** Joins the allocator to the registry: what the resource `services` does before a write, after it, and after a deletion. */
import type { Service } from '../../api/gen/core-v1.ts';
import type { Draft } from '../../apimachinery/meta.ts';
import type { ResourceHooks } from '../registry/resource-hooks.ts';
import type { ServiceAllocator } from './service-allocator.ts';

export function serviceHooks(allocator: ServiceAllocator): ResourceHooks {
  return {
    beginCreate: (object, context) => allocator.allocate(object as Draft<Service>, undefined, context),
    beginUpdate: (object, previous, context) =>
      allocator.allocate(object as Draft<Service>, previous as Service, context),
    afterDelete: (object) => allocator.release(object as Service),
  };
}
