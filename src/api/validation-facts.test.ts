/**
 * Every row of what upstream refuses, held against what the kinds refuse: objects of the right shape and otherwise arbitrary are created,
 * changed and given statuses until each field of a row was complained of. It shows that a rule is there, not that it is right: that is
 * each kind's own tests' business.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { FieldError } from '../apimachinery/field-error.ts';
import type { Draft, KubeObject } from '../apimachinery/meta.ts';
import { anyObject } from './any-object.fixture.ts';
import { knownBehaviours } from './behaviours.ts';
import type { KindBehaviour } from './kind.ts';

interface Row {
  readonly path: string;
  readonly rule: string;
}

const { kinds } = JSON.parse(readFileSync('facts/v1.36/validation.json', 'utf8')) as {
  readonly kinds: Readonly<Record<string, readonly Row[]>>;
};

/** A field that a row is about; what is no field (`(update)`), or the metadata that all kinds share, has tests elsewhere. */
const plainField = /^(?!metadata)[a-zA-Z][\w.[\]]*$/;

/**
 * Rows that arbitrary objects do not run into: for want of the right word in the right place (their kinds' own tests have it), because
 * upstream blames another field, because defaults come before, because another part of the server looks (admission, the generic rules of
 * updates), or because a gate is off.
 */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  'apiextensions/v1.CustomResourceDefinition': [
    'spec.versions[].storage',
    'spec.versions[].subresources.status',
    'spec.conversion.webhook.conversionReviewVersions',
    'spec.versions[].additionalPrinterColumns[].jsonPath',
    'spec.conversion.webhook.conversionReviewVersions[]',
  ],
  'apps/v1.DaemonSet': ['spec.updateStrategy.type'],
  'apps/v1.Deployment': ['spec.strategy.type'],
  'apps/v1.StatefulSet': ['spec.updateStrategy.type'],
  'autoscaling/v2.HorizontalPodAutoscaler': [
    'spec.metrics[].containerResource.container',
    'spec.metrics[].containerResource.target',
  ],
  'batch/v1.Job': ['spec.manualSelector', 'spec.suspend', 'status.conditions'],
  'core/v1.Event': ['message'],
  'core/v1.Namespace': ['status.phase'],
  'core/v1.Node': ['spec.taints', 'spec.unschedulable', 'status.nodeInfo.swap.capacity', 'spec.configSource.configMap'],
  'core/v1.PersistentVolume': ['spec.accessModes[]', 'spec.csi.driver', 'spec.csi.volumeHandle'],
  'core/v1.PersistentVolumeClaim': ['spec.accessModes[]', 'spec.volumeName'],
  'core/v1.Pod': [
    'spec.terminationGracePeriodSeconds',
    'status.conditions[].type',
    'status.containerStatuses[].volumeMounts[].volumeStatus.image.imageRef',
    'resize',
  ],
  'core/v1.ResourceQuota': [
    'spec.scopeSelector.matchExpressions[].operator',
    'spec.scopeSelector.matchExpressions[].values',
    'spec.scopes[]',
  ],
  'core/v1.Service': [
    'spec.clusterIPs[0]',
    'spec.ipFamilies[0]',
    'spec.ipFamilies[1]',
    'spec.loadBalancerSourceRanges',
    'spec.loadBalancerSourceRanges[]',
  ],
  'discovery/v1.EndpointSlice': ['ports[].port'],
  'flowcontrol/v1.FlowSchema': ['spec.rules[].resourceRules[].verbs[]'],
  'flowcontrol/v1.PriorityLevelConfiguration': [
    'spec.limited',
    'spec.exempt',
    'spec.limited.nominalConcurrencyShares',
    'spec.limited.lendablePercent',
    'spec.limited.borrowingLimitPercent',
    'spec.limited.limitResponse.type',
    'spec.limited.limitResponse.queuing',
    'spec.limited.limitResponse.queuing.queues',
    'spec.limited.limitResponse.queuing.handSize',
    'spec.limited.limitResponse.queuing.queueLengthLimit',
    'spec.exempt.nominalConcurrencyShares',
    'spec.exempt.lendablePercent',
  ],
  'networking/v1.Ingress': ['spec.rules[].http.paths[].backend.service.port.number'],
  'node/v1.RuntimeClass': ['overhead.podFixed'],
  'rbac/v1.ClusterRoleBinding': ['subjects[].apiGroup', 'subjects[].namespace'],
  'rbac/v1.RoleBinding': ['subjects[].namespace', 'subjects[].apiGroup'],
  'scheduling/v1.PriorityClass': ['globalDefault'],
  'scheduling/v1alpha2.PodGroup': ['spec.schedulingConstraints.topology', 'spec.schedulingConstraints.topology[].key'],
  'storage/v1.CSIDriver': [
    'spec.attachRequired',
    'spec.podInfoOnMount',
    'spec.volumeLifecycleModes[]',
    'spec.storageCapacity',
    'spec.seLinuxMount',
    'spec.preventPodSchedulingIfMissing',
  ],
  'storage/v1.CSINode': ['spec.drivers[].topologyKeys[]'],
  'storage/v1.CSIStorageCapacity': ['maximumVolumeSize'],
  'storage/v1.VolumeAttachment': ['status.attachmentMetadata'],
};

const mostSeeds = 300;
/** Even where only unlikely fields are left: one that has become likely does not stay in the list above. */
const fewestSeeds = 60;
const densities = [0.3, 0.5, 0.7, 0.9];

/** Those of the wanted fields that nobody complained of, in as many objects as it takes to find all but the unlikely ones. */
function neverRefused(behaviour: KindBehaviour, wanted: ReadonlySet<string>, unlikely: readonly string[]): Set<string> {
  const missing = new Set(wanted);
  const isMore = () => [...missing].some((path) => !unlikely.includes(path));
  const note = (errors: readonly FieldError[] = []) => {
    for (const { field } of errors) {
      const at = field.replace(/\[[^\]]*\]/g, '[]');
      for (const path of missing) if (at.startsWith(path)) missing.delete(path);
    }
  };
  for (let seed = 0; missing.size > 0 && seed < (isMore() ? mostSeeds : fewestSeeds); seed++) {
    const [object, other] = [made(behaviour, seed), made(behaviour, seed + 10_000)];
    note(behaviour.validate?.(object));
    const context = { warn: () => {} };
    const withStatus = { ...object, status: (other as { status?: unknown }).status } as KubeObject;
    for (const next of [object, withPartsOf(object, other, seed)]) {
      const previous = next === object ? other : object;
      note(behaviour.validateUpdate?.(next, previous, context));
      for (const subresource of Object.values(behaviour.subresources ?? {})) {
        note(subresource.validateUpdate?.(next, previous, context));
        note(subresource.validateUpdate?.(withStatus, object, context));
      }
    }
  }
  return missing;
}

function made(behaviour: KindBehaviour, seed: number): KubeObject {
  const object = anyObject(behaviour.resource, seed, densities[seed % densities.length]);
  behaviour.defaults?.(object);
  return object as KubeObject;
}

/** The object with some of the other's fields. */
function withPartsOf(object: KubeObject, other: KubeObject, seed: number): KubeObject {
  const next = { ...object } as Draft<KubeObject> & { spec?: Record<string, unknown> };
  if (next.spec) next.spec = { ...next.spec };
  const [to, from] = next.spec ? [next.spec, (other as { spec?: object }).spec ?? {}] : [next, other];
  for (const [index, [name, value]] of Object.entries(from).entries()) {
    if (['kind', 'apiVersion', 'metadata'].includes(name) || (seed >> (index % 8)) % 2 === 0) continue;
    (to as Record<string, unknown>)[name] = value;
  }
  return next as unknown as KubeObject;
}

describe('what upstream refuses', () => {
  for (const behaviour of knownBehaviours()) {
    const { group, version, kind } = behaviour.resource;
    const id = `${group.split('.')[0] || 'core'}/${version}.${kind}`;
    const paths = new Set((kinds[id] ?? []).map(({ path }) => path).filter((path) => plainField.test(path)));
    if (paths.size === 0) continue;
    it(`is refused of ${id}`, () => {
      const unlikely = elsewhere[id] ?? [];
      assert.deepEqual([...neverRefused(behaviour, paths, unlikely)], unlikely);
    });
  }
});
