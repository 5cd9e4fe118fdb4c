/**
 * PodSecurity: a namespace's labels say which of the Pod Security Standards its Pods must keep to, and which violations only warn.
 * Workloads are never refused, but warn of what their Pods will be refused for.
 */

import { semanticallyEqual } from '../../../api/equality.ts';
import { type Namespace, namespaces, type Pod, pods } from '../../../api/gen/core-v1.ts';
import { errorsText } from '../../../apimachinery/field-error.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import type { KubeObject } from '../../../apimachinery/meta.ts';
import { internalError, invalid, isNotFound } from '../../../apimachinery/status.ts';
import { onFirstCall } from '../../../base/lazy-module.ts';
import { loaderFrom } from '../../../base/load-on-use.ts';
import type { Client } from '../../../client/client.ts';
import { allContainers } from '../../authorization/pod-references.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission.ts';
import { isResource, type PluginContext } from '../plugin-context.ts';
import type { PodSecuritySettings } from '../pod-security/configuration.ts';
import type { PodLike } from '../pod-security/pod-view.ts';
import {
  asksFor,
  isFullyPrivileged,
  isStricter,
  type LevelVersion,
  modes,
  type Policy,
  policyOf,
  policyText,
  samePolicy,
} from '../pod-security/policy.ts';
import { refusal } from '../refusal.ts';

/** By `resource.group`, where the Pod's template is. */
const templates: Readonly<Record<string, (object: WorkloadLike) => PodLike | undefined>> = {
  'replicationcontrollers.': (object) => object.spec?.template,
  'podtemplates.': (object) => object.template,
  'replicasets.apps': (object) => object.spec?.template,
  'deployments.apps': (object) => object.spec?.template,
  'statefulsets.apps': (object) => object.spec?.template,
  'daemonsets.apps': (object) => object.spec?.template,
  'jobs.batch': (object) => object.spec?.template,
  'cronjobs.batch': (object) => object.spec?.jobTemplate?.spec?.template,
};

interface WorkloadLike {
  readonly template?: PodLike;
  readonly spec?: {
    readonly template?: PodLike;
    readonly jobTemplate?: { readonly spec?: { readonly template?: PodLike } };
  };
}

/** The checks themselves, which most namespaces do not ask for. */
const allViolations = onFirstCall(async () => (await import('../pod-security/violations.ts')).violations);

async function violations(pod: PodLike, asked: LevelVersion): Promise<string | undefined> {
  return asked.level === 'privileged' ? undefined : allViolations(pod, asked);
}

/** A changed policy is tried on so many of the Pods that are there, to warn of those it would refuse. */
const mostPodsTried = 3000;
/** Subresources of Pods that change nothing the standards are about. */
const harmless: ReadonlySet<string> = new Set([
  'exec',
  'attach',
  'binding',
  'eviction',
  'log',
  'portforward',
  'proxy',
  'status',
]);

const noLabels: Readonly<Record<string, string>> = Object.freeze({});

const prefix = 'pod-security.kubernetes.io/';
const loadSibling = loaderFrom(import.meta.url);

export function podSecurity(context: PluginContext, configuration?: unknown): AdmissionPlugin {
  const informer = context.informers.of(namespaces);
  const settings = settingsOf(configuration);

  // What labels ask for, by the labels of the informer's objects, which never change.
  const policies = new WeakMap<object, Policy>();
  const policyBy = (labels: Readonly<Record<string, string>> = noLabels): Policy => {
    let policy = policies.get(labels);
    if (!policy) {
      policy = policyOf(labels, settings?.defaults);
      policies.set(labels, policy);
    }
    return policy;
  };

  async function namespaceOf(name: string): Promise<Namespace> {
    try {
      return informer.get(name) ?? (await context.client.get(namespaces, { name }));
    } catch (error) {
      throw isNotFound(error) ? error : internalError(`failed to lookup namespace "${name}"`, { cause: error });
    }
  }

  return {
    name: 'PodSecurity',
    handles(operation, resource, subresource) {
      if (operation !== 'CREATE' && operation !== 'UPDATE') return false;
      if (isResource(resource, '', 'pods')) return !harmless.has(subresource);
      if (subresource !== '') return false;
      return (
        isResource(resource, '', 'namespaces') || Object.hasOwn(templates, `${resource.resource}.${resource.group}`)
      );
    },
    async validate(attributes) {
      const { resource, object, oldObject, operation } = attributes;
      if (isResource(resource, '', 'namespaces')) return checkNamespace(context.client, attributes, settings);
      const exempt = exemptionOf(attributes, settings);
      if (exempt) return attributes.annotate?.(`${prefix}exempt`, exempt);
      const isPod = isResource(resource, '', 'pods');
      if (isPod && operation === 'UPDATE' && !isSignificant(object as Pod, oldObject as Pod)) return;
      const pod = isPod
        ? (object as Pod)
        : templates[`${resource.resource}.${resource.group}`]?.(object as WorkloadLike);
      if (!pod) return;
      if (settings?.exemptions.runtimeClasses.has(pod.spec?.runtimeClassName ?? ''))
        return attributes.annotate?.(`${prefix}exempt`, 'runtimeClass');
      const policy = policyBy((await namespaceOf(attributes.namespace)).metadata.labels);
      await evaluate(attributes, policy, { pod, isPod });
    },
  };
}

function settingsOf(configuration: unknown): PodSecuritySettings | undefined {
  if (configuration === undefined) return undefined;
  const read = loadSibling<(written: unknown) => PodSecuritySettings>(
    '../pod-security/configuration.ts',
    'podSecuritySettings',
  );
  return read(configuration);
}

function exemptionOf({ namespace, user }: AdmissionAttributes, settings: PodSecuritySettings | undefined) {
  if (settings?.exemptions.namespaces.has(namespace)) return 'namespace';
  return settings?.exemptions.usernames.has(user.name) ? 'user' : undefined;
}

/** Refuses, warns, and leaves in the audit log what was found. Only Pods are refused; a workload would be by its Pods. */
async function evaluate(
  attributes: AdmissionAttributes,
  policy: Policy,
  { pod, isPod }: { readonly pod: PodLike; readonly isPod: boolean },
): Promise<void> {
  const annotate = (key: string, text: string) => attributes.annotate?.(`${prefix}${key}`, text);
  if (policy.errors.length > 0) annotate('error', `Failed to parse policy: ${errorsText(policy.errors)}`);
  const enforced = isPod ? await violations(pod, policy.enforce) : undefined;
  if (isPod) annotate('enforce-policy', policyText(policy.enforce));
  const would = (asked: LevelVersion, found: string) => `would violate PodSecurity "${policyText(asked)}": ${found}`;
  const audited = await violations(pod, policy.audit);
  if (audited !== undefined) annotate('audit-violations', would(policy.audit, audited));
  if (enforced !== undefined)
    throw refusal(attributes, `violates PodSecurity "${policyText(policy.enforce)}": ${enforced}`);
  const warned = await violations(pod, policy.warn);
  if (warned !== undefined) attributes.warn(would(policy.warn, warned));
}

async function checkNamespace(
  client: Client,
  attributes: AdmissionAttributes,
  settings: PodSecuritySettings | undefined,
): Promise<void> {
  const { object, oldObject, operation, warn } = attributes;
  const { name = '', labels } = (object as KubeObject).metadata;
  const policy = policyOf(labels, settings?.defaults);
  const oldPolicy = operation === 'UPDATE' ? policyOf(oldObject?.metadata.labels, settings?.defaults) : undefined;
  if (policy.errors.length > 0 && !semanticallyEqual(policy.errors, oldPolicy?.errors ?? [])) {
    throw invalid({ group: '', kind: 'Namespace' }, name, policy.errors);
  }
  const exempt = settings?.exemptions.namespaces.has(name) ? settings : undefined;
  if (oldPolicy) {
    if (samePolicy(policy.enforce, oldPolicy.enforce) || policy.enforce.level === 'privileged') return;
    if (policy.enforce.minor === oldPolicy.enforce.minor && !isStricter(policy.enforce, oldPolicy.enforce)) return;
  }
  if (exempt) warnOfExemption(attributes, policy, exempt);
  else if (oldPolicy) for (const warning of await existingViolations(client, name, policy.enforce)) warn(warning);
}

/** Whoever asks for a policy where none is looked at. */
function warnOfExemption({ object, warn }: AdmissionAttributes, policy: Policy, { defaults }: PodSecuritySettings) {
  if (isFullyPrivileged(policy) || modes.every((mode) => samePolicy(policy[mode], defaults[mode]))) return;
  const { name = '', labels } = (object as KubeObject).metadata;
  const asked = modes
    .filter((mode) => policy[mode].level !== 'privileged' && asksFor(mode, labels))
    .map((mode) => `${mode}=${policyText(policy[mode])}`);
  warn(`namespace ${quote(name)} is exempt from Pod Security, and the policy (${asked.join(', ')}) will be ignored`);
}

async function existingViolations(
  client: Client,
  namespace: string,
  enforce: LevelVersion,
): Promise<readonly string[]> {
  const { items } = await client.list(pods, { namespace });
  const byViolation = new Map<string, string[]>();
  const seenOwners = new Set<string>();
  for (const pod of items.slice(0, mostPodsTried)) {
    // Pods of one owner are alike; one of them tells it for all.
    const owner = pod.metadata.ownerReferences?.find((reference) => reference.controller)?.uid;
    if (owner !== undefined && seenOwners.has(owner)) continue;
    if (owner !== undefined) seenOwners.add(owner);
    const found = await violations(pod, enforce);
    if (found !== undefined) byViolation.set(found, [...(byViolation.get(found) ?? []), pod.metadata.name ?? '']);
  }
  if (byViolation.size === 0) return [];
  const lines = [...byViolation].map(([found, [first, ...others]]) => {
    const more =
      others.length === 0 ? '' : others.length === 1 ? ' (and 1 other pod)' : ` (and ${others.length} other pods)`;
    return `${first}${more}: ${found}`;
  });
  return [
    ...(items.length > mostPodsTried
      ? [
          `new PodSecurity enforce level only checked against the first ${mostPodsTried} of ${items.length} existing pods`,
        ]
      : []),
    `existing pods in namespace "${namespace}" violate the new PodSecurity enforce level "${policyText(enforce)}"`,
    ...lines.sort(),
  ];
}

/** Most of a Pod cannot be changed; only these changes can break the standards. */
function isSignificant(pod: Pod, oldPod: Pod): boolean {
  const [containers, oldContainers] = [allContainers(pod), allContainers(oldPod)];
  return (
    containers.length !== oldContainers.length ||
    containers.some((container, i) => container.image !== oldContainers[i]?.image)
  );
}
