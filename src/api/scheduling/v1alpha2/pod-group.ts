/** PodGroups: Pods that are placed together. Parts whose features are off are dropped, unless they are stored already. */
import type { Draft } from '../../../apimachinery/meta.ts';
import { ageColumn, nameColumn, text } from '../../columns.ts';
import { partOf } from '../../defaulting.ts';
import { type PodGroup, type PodGroupTemplate, podGroups } from '../../gen/scheduling-v1alpha2.ts';
import type { KindBehaviour, StrategyContext } from '../../kind.ts';
import { statusKeepsMetadata } from '../../strategy.ts';
import { validatePodGroup, validatePodGroupStatus } from './group-validation.ts';

const offFeatures = [
  ['schedulingConstraints'],
  ['resourceClaims'],
  ['disruptionMode', 'priorityClassName', 'priority'],
] as const;

type Part = (typeof offFeatures)[number][number];

/** Each feature's fields stay when the stored object has one of them. */
export function dropOffFeatures(
  spec: Draft<Pick<PodGroupTemplate, Part>>,
  stored: Pick<PodGroupTemplate, Part> | undefined,
): void {
  for (const fields of offFeatures) {
    if (fields.some((field) => stored?.[field] != null)) continue;
    for (const field of fields) delete spec[field];
  }
}

export const podGroupBehaviour: KindBehaviour<PodGroup> = {
  resource: podGroups,
  countsGeneration: false,
  defaults(group) {
    partOf(group, 'spec');
  },
  prepareForCreate: ({ spec }) => dropOffFeatures(spec, undefined),
  prepareForUpdate: ({ spec }, previous) => dropOffFeatures(spec, previous.spec),
  validate: (group) => validatePodGroup(group),
  validateUpdate: validatePodGroup,
  subresources: { status: { prepareForUpdate: prepareStatus, validateUpdate: validatePodGroupStatus } },
  columns: [
    nameColumn,
    text('Policy', ({ spec }) => (spec.schedulingPolicy?.gang ? 'Gang' : 'Basic')),
    text('Workload', ({ spec }) => spec.podGroupTemplateRef?.workload?.workloadName ?? '<none>', {
      description: 'Name of the referenced Workload object',
    }),
    text('Status', statusText, { description: 'Status of the PodGroup' }),
    ageColumn,
  ],
};

/** What became of claims is told only of a group that has some, for their feature is off. */
function prepareStatus(group: Draft<PodGroup>, previous: PodGroup, context: StrategyContext): void {
  statusKeepsMetadata.prepareForUpdate?.(group, previous, context);
  if (!previous.spec.resourceClaims?.length) delete group.status?.resourceClaimStatuses;
}

function statusText({ status }: PodGroup): string {
  const last = (wanted: string) => status?.conditions?.findLast(({ type }) => type === wanted);
  const disruption = last('DisruptionTarget');
  if (disruption) return disruption.reason;
  const scheduled = last('PodGroupScheduled');
  if (!scheduled) return 'Pending';
  return scheduled.status === 'True' ? 'Scheduled' : 'Unschedulable';
}
