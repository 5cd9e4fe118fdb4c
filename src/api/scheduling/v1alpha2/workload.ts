/** Workloads: the groups of Pods that make up one piece of work. */
import { ageColumn, nameColumn } from '../../columns.ts';
import { partOf } from '../../defaulting.ts';
import { type Workload, workloads } from '../../gen/scheduling-v1alpha2.ts';
import type { KindBehaviour } from '../../kind.ts';
import { validateWorkload } from './group-validation.ts';
import { dropOffFeatures } from './pod-group.ts';

export const workloadBehaviour: KindBehaviour<Workload> = {
  resource: workloads,
  countsGeneration: false,
  defaults(workload) {
    partOf(workload, 'spec');
  },
  prepareForCreate({ spec }) {
    for (const template of spec.podGroupTemplates ?? []) dropOffFeatures(template, undefined);
  },
  prepareForUpdate({ spec }, previous) {
    for (const [index, template] of (spec.podGroupTemplates ?? []).entries()) {
      dropOffFeatures(template, previous.spec.podGroupTemplates?.[index]);
    }
  },
  validate: (workload) => validateWorkload(workload),
  validateUpdate: validateWorkload,
  columns: [nameColumn, ageColumn],
};
