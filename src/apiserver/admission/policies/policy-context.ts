/** What policies of both sorts need, put together when the first of them is bound. */
import type { Namespace } from '../../../api/gen/core-v1.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Authorizer } from '../../authorization/authorizer.ts';
import type { AdmissionAttributes } from '../admission.ts';
import { type ExtensionStatistics, extensionsOf } from '../extension-statistics.ts';
import { Namespaces } from '../matching/selectors.ts';
import { isResource, type PluginContext } from '../plugin-context.ts';
import type { ParamContext } from './params.ts';

export interface PolicyContext extends ParamContext {
  readonly namespaces: Namespaces;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly statistics: () => ExtensionStatistics | undefined;
}

export function policyContext(context: PluginContext): PolicyContext {
  const { client, informers, authorizer, clock, resources = noResources, meter } = context;
  const statistics = () => extensionsOf(meter?.()?.statistics);
  return { client, authorizer, clock, statistics, resources, namespaces: new Namespaces({ client, informers }) };
}

const noResources: ParamContext['resources'] = { all: () => new Map<never, never>().values() };

/** The namespace that the request's object is in; a namespace itself is in none. Rejects with 404. */
export async function requestNamespace(
  { namespaces }: PolicyContext,
  { namespace, resource }: AdmissionAttributes,
): Promise<Namespace | undefined> {
  if (namespace === '' || isResource(resource, '', 'namespaces')) return undefined;
  return namespaces.get(namespace);
}
