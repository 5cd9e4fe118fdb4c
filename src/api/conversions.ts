/**
 * Between the versions of one resource. Most differ in nothing but their apiVersion; those that differ have a file in their
 * group's folder. A conversion loses nothing that its target can say, and what it cannot say goes into annotations as upstream
 * puts it there.
 */
import { apiVersionOf, type GroupVersionKind, type GroupVersionResource } from '../apimachinery/resource.ts';
import { horizontalPodAutoscalerConversion } from './autoscaling/conversion.ts';
import type { Conversion } from './conversion.ts';
import { eventConversion } from './events/conversion.ts';

type Resource = GroupVersionResource & GroupVersionKind;

/** The conversion between the version in which a resource is kept and another in which it is served. */
export function conversionTo(hub: Resource, served: Resource): Conversion {
  if (served.resource === 'events' && served.group === 'events.k8s.io') return eventConversion;
  if (served.resource === 'horizontalpodautoscalers' && served.version === 'v1')
    return horizontalPodAutoscalerConversion;
  const hubVersion = apiVersionOf(hub);
  const servedVersion = apiVersionOf(served);
  return {
    identity: true,
    toHub(object) {
      object.apiVersion = hubVersion;
      return object;
    },
    fromHub: (object) => ({ ...object, apiVersion: servedVersion }),
  };
}
