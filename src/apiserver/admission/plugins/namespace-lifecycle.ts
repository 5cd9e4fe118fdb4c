/**
 * NamespaceLifecycle: nothing is created in a namespace that is not there or is being deleted, and the namespaces the system stands
 * on cannot be deleted. Reads the informer first and the server itself whenever the informer could be behind, so it never refuses a
 * namespace that was just created, without waiting as upstream does.
 */
import { namespaces } from '../../../api/gen/core-v1.ts';
import { forbidden, internalError, isNotFound, messageOf, StatusError } from '../../../apimachinery/status.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission.ts';
import { isResource, type PluginContext } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';

const immortal: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public']);
/** For so long after its deletion was asked, a namespace's phase is read from the server. */
const forceLiveLookupMs = 30_000;
const forceLiveLookupEntries = 100;

export function namespaceLifecycle(context: PluginContext): AdmissionPlugin {
  const informer = context.informers.of(namespaces);
  /** Namespaces lately asked to be deleted, with the time until which the informer is not trusted about them. */
  const suspects = new Map<string, number>();
  return {
    name: 'NamespaceLifecycle',
    replacesParts: true,
    handles: (operation, resource) =>
      operation !== 'CONNECT' && !isResource(resource, 'authorization.k8s.io', 'localsubjectaccessreviews'),
    admit(attributes) {
      if (isResource(attributes.resource, '', 'namespaces')) return admitNamespace(attributes);
      if (attributes.namespace === '' || attributes.operation === 'DELETE') return undefined;
      const known = informer.get(attributes.namespace);
      if (known && !(isSuspect(attributes.namespace) && known.status?.phase === 'Active')) {
        return checkPhase(attributes, known.status?.phase);
      }
      return admitByLiveLookup(attributes);
    },
  };

  function admitNamespace({ operation, name, resource }: AdmissionAttributes): void {
    if (operation !== 'DELETE') return;
    if (immortal.has(name)) throw forbidden(resource, name, 'this namespace may not be deleted');
    suspects.delete(name);
    suspects.set(name, context.clock.monotonic() + forceLiveLookupMs);
    const oldest = suspects.keys().next();
    if (suspects.size > forceLiveLookupEntries && !oldest.done) suspects.delete(oldest.value);
  }

  function isSuspect(name: string): boolean {
    const until = suspects.get(name);
    if (until === undefined) return false;
    if (until > context.clock.monotonic()) return true;
    suspects.delete(name);
    return false;
  }

  async function admitByLiveLookup(attributes: AdmissionAttributes): Promise<void> {
    try {
      const namespace = await context.client.get(namespaces, { name: attributes.namespace });
      checkPhase(attributes, namespace.status?.phase);
    } catch (error) {
      if (isNotFound(error) || (error instanceof StatusError && error.code === 403)) throw error;
      throw internalError(messageOf(error), { cause: error });
    }
  }
}

function checkPhase(attributes: AdmissionAttributes, phase: string | undefined): void {
  if (attributes.operation !== 'CREATE' || phase !== 'Terminating') return;
  const { namespace } = attributes;
  const { status } = refusal(
    attributes,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
  );
  const cause = {
    reason: 'NamespaceTerminating',
    message: `namespace ${namespace} is being terminated`,
    field: 'metadata.namespace',
  };
  throw new StatusError({ ...status, details: { ...status.details, causes: [cause] } });
}
