/**
 * The end of a CustomResourceDefinition: all of its objects are deleted, and only when none is left does the definition go. Objects that
 * finalizers hold are waited for. Admission has no say in it, as in upstream: nobody may keep what nobody can reach any more.
 */
import { cleanupFinalizer } from '../../api/apiextensions/v1/custom-resource-definition.ts';
import {
  type CustomResourceDefinition,
  type CustomResourceDefinitionCondition,
  customResourceDefinitions,
} from '../../api/gen/apiextensions-v1.ts';
import { withCondition, withoutCondition } from '../../apimachinery/conditions.ts';
import { everyField } from '../../apimachinery/fields.ts';
import { aggregate } from '../../apimachinery/go-text.ts';
import { everything } from '../../apimachinery/labels.ts';
import { jsonEqual } from '../../apimachinery/patch/merge-patch.ts';
import { isConflict, isNotFound, messageOf } from '../../apimachinery/status.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';
import { prefixEnd } from '../../storage/store.ts';
import { AdmissionChain } from '../admission/chain.ts';
import { negotiate } from '../encoding/negotiation.ts';
import { loopbackUser } from '../loopback-user.ts';
import { deleteEach } from '../registry/delete-collection.ts';
import { createOperation, type Operation, type RegistryEnvironment } from '../registry/operation.ts';
import type { ApiRequest, RequestInfo } from '../request.ts';
import type { ServedResource } from '../served-resource.ts';
import type { CacheEntry } from '../watch-cache/cache-entry.ts';
import { hasCondition } from './definition-status.ts';

export interface CleanupOptions {
  readonly environment: RegistryEnvironment;
  /** Of a definition by its name, in the version in which its objects are stored. */
  storageOf(name: string): ServedResource | undefined;
}

type Outcome = Omit<CustomResourceDefinitionCondition, 'type'>;

/** How long objects with finalizers are waited for before the wait begins anew. */
const patienceMs = 60_000;

/** Runs until the context's signal is aborted. */
export function runDefinitionCleanup(context: ComponentContext, options: CleanupOptions): Promise<void> {
  const { client, clock } = context;
  const informer = context.informers.of(customResourceDefinitions);
  const write = async (definition: CustomResourceDefinition, outcome: Outcome, finalizers?: readonly string[]) => {
    const { metadata, status } = definition;
    const conditions = withCondition(status?.conditions, { type: 'Terminating', ...outcome }, clock.now());
    const next = { ...definition, metadata: finalizers ? { ...metadata, finalizers } : metadata };
    return client.updateStatus(customResourceDefinitions, { ...next, status: { ...status, conditions } });
  };

  const controller = createController(context, {
    name: 'crd-finalizer',
    async reconcile(name, signal) {
      const shown = informer.get(name);
      if (!shown || !isDue(shown)) return;
      try {
        const definition = await write(shown, inProgress);
        const outcome = await cleanUp(definition, options, signal);
        if (outcome.status === 'True') {
          await write(definition, outcome);
          throw new Error(outcome.message);
        }
        const left = (definition.metadata.finalizers ?? []).filter((finalizer) => finalizer !== cleanupFinalizer);
        await write(definition, outcome, left);
      } catch (error) {
        // Somebody else wrote it, and the informer will tell.
        if (!isConflict(error) && !isNotFound(error)) throw error;
      }
    },
  });
  controller.watchMapped(informer, (definition, previous) =>
    isDue(definition) && !(previous && differsInTerminatingOnly(definition, previous))
      ? [definition.metadata.name ?? '']
      : [],
  );
  return controller.run();
}

const inProgress: Outcome = {
  status: 'True',
  reason: 'InstanceDeletionInProgress',
  message: 'CustomResource deletion is in progress',
};

/** Resources that a definition cannot take over, however it names itself: their objects are not its own. */
const builtin: ReadonlySet<string> = new Set([
  'apiservices.apiregistration.k8s.io',
  'customresourcedefinitions.apiextensions.k8s.io',
]);

async function cleanUp(
  definition: CustomResourceDefinition,
  { environment, storageOf }: CleanupOptions,
  signal: AbortSignal,
): Promise<Outcome> {
  const { name = '' } = definition.metadata;
  if (builtin.has(name)) {
    const message = 'instances overlap with built-in resources in storage';
    return { status: 'False', reason: 'OverlappingBuiltInResource', message };
  }
  if (!hasCondition(definition, 'Established')) {
    return { status: 'False', reason: 'NeverEstablished', message: 'resource was never established' };
  }
  const resource = storageOf(name);
  if (!resource) return failed('InstanceDeletionFailed', `could not list instances: ${name} is not served`);
  return deleteInstances(operationOn(resource, environment, signal));
}

function failed(reason: string, message: string): Outcome {
  return { status: 'True', reason, message };
}

async function deleteInstances(operation: Operation): Promise<Outcome> {
  const { cache } = operation.storage;
  try {
    await cache.fresh();
  } catch (error) {
    return failed('InstanceDeletionFailed', `could not list instances: ${messageOf(error)}`);
  }
  const problems: string[] = [];
  await deleteEach(operation, instances(operation), {}, (error) => void problems.push(messageOf(error)));
  if (problems.length > 0) {
    return failed('InstanceDeletionFailed', `could not issue all deletes: ${aggregate(problems)}`);
  }
  await cache.fresh();
  if (!(await emptied(operation))) {
    const message = 'could not confirm zero CustomResources remaining: context deadline exceeded';
    return failed('InstanceDeletionCheck', message);
  }
  return { status: 'False', reason: 'InstanceDeletionCompleted', message: 'removed all instances' };
}

function instances({ kind, storage }: Operation): CacheEntry[] {
  const entries: CacheEntry[] = [];
  storage.cache.visit(kind.prefix, prefixEnd(kind.prefix), (entry) => {
    entries.push(entry);
    return true;
  });
  return entries;
}

/** Waits until the last object has gone; false when it takes too long. */
async function emptied({ storage, environment, resource, request }: Operation): Promise<boolean> {
  const { cache } = storage;
  if (cache.size === 0) return true;
  const watcher = cache.watch({
    selection: { labels: everything, fields: everyField },
    representation: environment.representationOf(resource, 'json'),
    wantsBookmarks: false,
  });
  const stop = () => watcher.cancel();
  const timer = environment.clock.after(patienceMs, stop);
  request.signal.addEventListener('abort', stop, { once: true });
  for await (const _ of watcher) if (cache.size === 0) break;
  timer.cancel();
  request.signal.removeEventListener('abort', stop);
  return cache.size === 0;
}

function isDue({ metadata }: CustomResourceDefinition): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers?.includes(cleanupFinalizer) ?? false);
}

/** What the cleanup itself writes need not wake it. */
function differsInTerminatingOnly(a: CustomResourceDefinition, b: CustomResourceDefinition): boolean {
  const bare = ({ metadata, spec, status }: CustomResourceDefinition) => {
    const { resourceVersion: _, ...rest } = metadata;
    return { rest, spec, status: { ...status, conditions: withoutCondition(status?.conditions, 'Terminating') } };
  };
  return a.metadata.resourceVersion !== b.metadata.resourceVersion && jsonEqual(bare(a), bare(b));
}

/** The operation of nobody's request: by the server's own user, past admission. */
function operationOn(resource: ServedResource, environment: RegistryEnvironment, signal: AbortSignal): Operation {
  const { group, version, resource: plural } = resource.row;
  const path = `/apis/${group}/${version}/${plural}`;
  const request: ApiRequest = {
    method: 'DELETE',
    path,
    query: new URLSearchParams(),
    headers: {},
    body: { kind: 'none' },
    remoteAddress: '',
    clientCertificates: [],
    user: loopbackUser,
    signal,
  };
  const info: RequestInfo = {
    isResource: true,
    verb: 'deletecollection',
    path,
    group,
    version,
    namespace: '',
    resource: plural,
    subresource: '',
    name: '',
    rest: [],
  };
  const withoutAdmission = { ...environment, admission: () => noAdmission };
  return createOperation(withoutAdmission, { request, info, resource, output: negotiate(request) });
}

const noAdmission = new AdmissionChain([]);
