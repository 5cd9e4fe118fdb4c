/** The objects without which flow control cannot work: the server imagines them where they are missing, and nobody may change them. */
import type {
  FlowSchema,
  FlowSchemaSpec,
  PolicyRulesWithSubjects,
  PriorityLevelConfiguration,
  PriorityLevelConfigurationSpec,
} from '../../gen/flowcontrol-v1.ts';

export const exemptName = 'exempt';
export const catchAllName = 'catch-all';

function everythingOf(...groups: readonly string[]): PolicyRulesWithSubjects {
  const all = ['*'];
  return {
    subjects: groups.map((name) => ({ kind: 'Group', group: { name } })),
    resourceRules: [{ verbs: all, apiGroups: all, resources: all, namespaces: all, clusterScope: true }],
    nonResourceRules: [{ verbs: all, nonResourceURLs: all }],
  };
}

const schemaSpecs: Readonly<Record<string, FlowSchemaSpec>> = {
  [exemptName]: {
    priorityLevelConfiguration: { name: exemptName },
    matchingPrecedence: 1,
    rules: [everythingOf('system:masters')],
  },
  [catchAllName]: {
    priorityLevelConfiguration: { name: catchAllName },
    matchingPrecedence: 10_000,
    distinguisherMethod: { type: 'ByUser' },
    rules: [everythingOf('system:unauthenticated', 'system:authenticated')],
  },
};

const levelSpecs: Readonly<Record<string, PriorityLevelConfigurationSpec>> = {
  [exemptName]: { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
  [catchAllName]: {
    type: 'Limited',
    limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' }, lendablePercent: 0 },
  },
};

/** Undefined for a name that is not mandatory. */
export function mandatorySchemaSpec(name: string): FlowSchemaSpec | undefined {
  return Object.hasOwn(schemaSpecs, name) ? schemaSpecs[name] : undefined;
}

/** Undefined for a name that is not mandatory. */
export function mandatoryLevelSpec(name: string): PriorityLevelConfigurationSpec | undefined {
  return Object.hasOwn(levelSpecs, name) ? levelSpecs[name] : undefined;
}

export const mandatorySchemas: readonly FlowSchema[] = Object.entries(schemaSpecs).map(([name, spec]) => ({
  metadata: { name },
  spec,
}));

export const mandatoryLevels: readonly PriorityLevelConfiguration[] = Object.entries(levelSpecs).map(
  ([name, spec]) => ({ metadata: { name }, spec }),
);
