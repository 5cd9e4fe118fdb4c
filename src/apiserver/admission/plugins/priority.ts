/**
 * Priority: a Pod names a PriorityClass, and this plugin writes the class's number and preemption policy into the Pod. At most one
 * class can be the default.
 */
import { type Pod, pods } from '../../../api/gen/core-v1.ts';
import { type PriorityClass, priorityClasses } from '../../../api/gen/scheduling-v1.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { isNotFound } from '../../../apimachinery/status.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission.ts';
import { isResource, type PluginContext, whenReady } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';

export function priority(context: PluginContext): AdmissionPlugin {
  const informer = context.informers.of(priorityClasses);
  return {
    name: 'Priority',
    replacesParts: true,
    handles: (operation, resource, subresource) =>
      (operation === 'CREATE' || operation === 'UPDATE') &&
      subresource === '' &&
      (isResource(resource, '', pods.resource) ||
        isResource(resource, priorityClasses.group, priorityClasses.resource)),
    admit(attributes) {
      if (attributes.resource.resource !== pods.resource) return undefined;
      const pod = attributes.object as Draft<Pod>;
      if (attributes.operation === 'UPDATE') return keepPriority(pod, attributes.oldObject as Pod);
      const ready = whenReady(context, informer, attributes);
      return ready ? ready.then(() => setPriority(attributes, pod)) : setPriority(attributes, pod);
    },
    validate(attributes) {
      if (attributes.resource.resource !== priorityClasses.resource) return;
      const candidate = attributes.object as unknown as PriorityClass;
      if (!candidate.globalDefault) return;
      const present = defaultClass();
      if (!present || (attributes.operation === 'UPDATE' && present.metadata.name === candidate.metadata.name)) return;
      const message = `PriorityClass ${present.metadata.name} is already marked as default. Only one default can exist`;
      throw refusal(attributes, message);
    },
  };

  function setPriority(attributes: AdmissionAttributes, pod: Draft<Pod>): Promise<void> | void {
    const name = pod.spec.priorityClassName;
    if (!name) return applyClass(attributes, pod, defaultClass());
    const known = informer.get(name);
    if (known) return applyClass(attributes, pod, known);
    return context.client.get(priorityClasses, { name }).then(
      (found) => applyClass(attributes, pod, found),
      (error: unknown) => {
        throw isNotFound(error) ? refusal(attributes, `no PriorityClass with name ${name} was found`) : error;
      },
    );
  }

  /** Should there be several by a race, the lowest. */
  function defaultClass(): PriorityClass | undefined {
    return informer
      .list()
      .filter((candidate) => candidate.globalDefault)
      .sort((a, b) => (a.value ?? 0) - (b.value ?? 0))[0];
  }
}

/** Without a class and without a default one, a Pod has priority 0. */
function applyClass(attributes: AdmissionAttributes, pod: Draft<Pod>, priorityClass: PriorityClass | undefined): void {
  const value = priorityClass?.value ?? 0;
  const policy = priorityClass ? priorityClass.preemptionPolicy : 'PreemptLowerPriority';
  const { spec } = pod;
  if (priorityClass?.metadata.name) spec.priorityClassName = priorityClass.metadata.name;
  const computed = 'priority admission controller computed';
  if (spec.priority !== undefined && spec.priority !== null && spec.priority !== value) {
    throw refusal(
      attributes,
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; ${computed} ${value} from the given PriorityClass name`,
    );
  }
  spec.priority = value;
  if (!policy) return;
  if (spec.preemptionPolicy && spec.preemptionPolicy !== policy) {
    throw refusal(
      attributes,
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; ${computed} ${policy} from the given PriorityClass name`,
    );
  }
  spec.preemptionPolicy = policy;
}

/** A client that does not know these fields must not lose them by an update. */
function keepPriority(pod: Draft<Pod>, oldPod: Pod): void {
  const { spec } = pod;
  const priority = spec.priority ?? oldPod.spec.priority;
  const preemptionPolicy = spec.preemptionPolicy ?? oldPod.spec.preemptionPolicy;
  if (priority === spec.priority && preemptionPolicy === spec.preemptionPolicy) return;
  pod.spec = {
    ...spec,
    ...(priority === undefined ? {} : { priority }),
    ...(preemptionPolicy === undefined ? {} : { preemptionPolicy }),
  };
}
