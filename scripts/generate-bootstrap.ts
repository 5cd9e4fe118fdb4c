/**
 * Derives from `facts/v1.36` what the API server needs at run time and nobody should type by hand: the objects that exist from the
 * start (RBAC, priority and fairness, priority classes), the Node authorizer's static rules, the order of admission plugins.
 *
 *     node scripts/generate-bootstrap.ts           writes src/apiserver/gen/*.json
 *     node scripts/generate-bootstrap.ts --check   fails when one of them is stale
 */
import { publish, readFacts } from './generated-files.ts';

interface SubjectFact {
  readonly kind: 'User' | 'Group' | 'ServiceAccount';
  readonly name: string;
  readonly namespace?: string;
}

interface RoleFact {
  readonly name: string;
  readonly namespace?: string;
  readonly extraLabels?: Readonly<Record<string, string>>;
  readonly aggregationRule?: unknown;
  readonly rules: readonly unknown[] | null;
}

interface BindingFact {
  readonly name: string;
  readonly namespace?: string;
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly SubjectFact[];
}

/** A role that exists only with all its gates on. */
interface GatedRoleFact extends RoleFact {
  readonly gates: readonly string[];
  readonly boundTo?: readonly SubjectFact[];
}

interface LevelFact {
  readonly name: string;
  readonly type: 'Exempt' | 'Limited';
  readonly nominalConcurrencyShares: number;
  readonly lendablePercent: number;
  readonly limitResponse?: {
    readonly type: string;
    readonly queues?: number;
    readonly handSize?: number;
    readonly queueLengthLimit?: number;
  };
}

interface FlowSchemaFact {
  readonly name: string;
  readonly priorityLevel: string;
  readonly matchingPrecedence: number;
  readonly distinguisher: string | null;
  readonly rules: readonly {
    readonly subjects: readonly SubjectFact[];
    readonly resourceRules: readonly unknown[];
    readonly nonResourceRules: readonly unknown[];
  }[];
}

const bootstrap = readFacts('v1.36/bootstrap.json');
const admission = readFacts('v1.36/admission.json');
const node = readFacts('v1.36/authorization-node.json');

const output = new Map<string, unknown>([
  ['rbac.json', rbac()],
  ['flow-control.json', flowControl()],
  ['bootstrap.json', { namespaces: bootstrap.namespaces.created as string[], priorityClasses: priorityClasses() }],
  ['node-rules.json', node.nodeRules],
  ['admission.json', { order: admission.order, defaultEnabled: admission.defaultEnabled }],
]);

publish(
  new Map([...output].map(([name, value]) => [`src/apiserver/gen/${name}`, `${JSON.stringify(value, null, 1)}\n`])),
);

function rbac() {
  const { commonMetadata, apiVersion, roleRefApiGroup, subjectApiGroup } = bootstrap.rbac;
  const metadata = (fact: { name: string; namespace?: string; extraLabels?: object }) => ({
    name: fact.name,
    ...(fact.namespace === undefined ? {} : { namespace: fact.namespace }),
    labels: { ...commonMetadata.labels, ...fact.extraLabels },
    annotations: commonMetadata.annotations,
  });
  const role = (kind: string) => (fact: RoleFact) => ({
    apiVersion,
    kind,
    metadata: metadata(fact),
    rules: fact.rules ?? [],
    ...(fact.aggregationRule === undefined ? {} : { aggregationRule: fact.aggregationRule }),
  });
  const binding = (kind: string) => (fact: BindingFact) => ({
    apiVersion,
    kind,
    metadata: metadata(fact),
    subjects: fact.subjects.map((subject) => {
      const apiGroup = subjectApiGroup[subject.kind] as string;
      return {
        kind: subject.kind,
        ...(apiGroup === '' ? {} : { apiGroup }),
        name: subject.name,
        namespace: subject.namespace,
      };
    }),
    roleRef: { apiGroup: roleRefApiGroup, ...fact.roleRef },
  });
  const { offByDefault, clusterRoles, controllerClusterRoles, clusterRoleBindings, controllerClusterRoleBindings } =
    bootstrap.rbac;
  return {
    clusterRoles: [...clusterRoles, ...controllerClusterRoles].map(role('ClusterRole')),
    clusterRoleBindings: [...clusterRoleBindings, ...controllerClusterRoleBindings].map(binding('ClusterRoleBinding')),
    gated: offByDefault.addedClusterRoles.map((fact: GatedRoleFact) => ({
      gates: fact.gates,
      clusterRole: role('ClusterRole')(fact),
      clusterRoleBinding: binding('ClusterRoleBinding')({
        name: fact.name,
        subjects: fact.boundTo ?? [controllerAccount(fact.name)],
        roleRef: { kind: 'ClusterRole', name: fact.name },
      } as BindingFact),
    })),
    gatedRules: offByDefault.addedRules,
    roles: bootstrap.rbac.roles.map(role('Role')),
    roleBindings: bootstrap.rbac.roleBindings.map(binding('RoleBinding')),
  };
}

/** Roles of controllers are bound to the accounts of their names. */
function controllerAccount(role: string): SubjectFact {
  const name = role.replace(/^system:controller:/, '');
  return { kind: 'ServiceAccount', name, namespace: 'kube-system' };
}

function flowControl() {
  const { apiVersion, annotation, priorityLevels, flowSchemas } = bootstrap.flowcontrol;
  const metadata = (name: string) => ({ name, annotations: annotation });
  return {
    priorityLevels: priorityLevels.map((level: LevelFact) => ({
      apiVersion,
      kind: 'PriorityLevelConfiguration',
      metadata: metadata(level.name),
      spec: levelSpec(level),
    })),
    flowSchemas: flowSchemas.map((schema: FlowSchemaFact) => ({
      apiVersion,
      kind: 'FlowSchema',
      metadata: metadata(schema.name),
      spec: {
        priorityLevelConfiguration: { name: schema.priorityLevel },
        matchingPrecedence: schema.matchingPrecedence,
        ...(schema.distinguisher === null ? {} : { distinguisherMethod: { type: schema.distinguisher } }),
        rules: schema.rules.map((rule) => ({
          subjects: rule.subjects.map(flowSubject),
          ...(rule.resourceRules.length > 0 ? { resourceRules: rule.resourceRules } : {}),
          ...(rule.nonResourceRules.length > 0 ? { nonResourceRules: rule.nonResourceRules } : {}),
        })),
      },
    })),
  };
}

function levelSpec(level: LevelFact) {
  const { type, nominalConcurrencyShares, lendablePercent, limitResponse } = level;
  if (type === 'Exempt') return { type, exempt: { nominalConcurrencyShares, lendablePercent } };
  const { type: response, ...queuing } = limitResponse!;
  return {
    type,
    limited: {
      nominalConcurrencyShares,
      limitResponse: response === 'Queue' ? { type: response, queuing } : { type: response },
      lendablePercent,
    },
  };
}

function flowSubject({ kind, name, namespace }: SubjectFact) {
  if (kind === 'User') return { kind, user: { name } };
  if (kind === 'Group') return { kind, group: { name } };
  return { kind, serviceAccount: { namespace, name } };
}

function priorityClasses() {
  const { apiVersion, items } = bootstrap.priorityClasses;
  return items.map((item: { name: string; value: number; preemptionPolicy: string }) => ({
    apiVersion,
    kind: 'PriorityClass',
    metadata: { name: item.name },
    value: item.value,
    description:
      item.name === 'system-node-critical'
        ? 'Used for system critical pods that must not be moved from their current node.'
        : 'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
    preemptionPolicy: item.preemptionPolicy,
  }));
}
