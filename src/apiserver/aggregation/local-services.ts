/**
 * The APIServices that this server writes by itself: one for each group version that it serves, with upstream's ranks. Built-in ones are
 * brought about once at each start; those of custom resources are kept as long as their definitions serve the version. Whoever takes the
 * label off one has it for himself.
 */
import type { CustomResourceDefinition } from '../../api/gen/apiextensions-v1.ts';
import type { APIService, APIServiceSpec } from '../../api/gen/apiregistration-v1.ts';
import { builtinSchema } from '../../api/schema.ts';

const automanagedLabel = 'kube-aggregator.kubernetes.io/automanaged';

/** Brought about once at each start, or always. */
export type Automanaged = 'onstart' | 'true';

export interface DesiredService extends APIService {
  readonly spec: APIServiceSpec;
}

/** The rank of what has none of its own. */
const customRank = { groupPriorityMinimum: 1000, versionPriority: 100 };

export function serviceName({ group, version }: { readonly group: string; readonly version: string }): string {
  return `${version}.${group}`;
}

/** By name; `isServed` says which of the built-in group versions are on. The group of APIServices itself has none, as upstream. */
export function builtinServices(isServed: (group: string, version: string) => boolean): Map<string, DesiredService> {
  const services = builtinSchema()
    .document.groups.filter(({ group }) => group !== 'apiregistration.k8s.io')
    .flatMap(({ group, groupPriority, versions }) =>
      versions
        .filter(({ version }) => isServed(group, version))
        .map(({ version, versionPriority }) =>
          desired('onstart', { group, version, groupPriorityMinimum: groupPriority, versionPriority }),
        ),
    );
  return new Map(services.map((service) => [service.metadata.name!, service]));
}

/** The APIService of a custom group version; undefined where no definition serves it. */
export function customService(
  name: string,
  definitions: readonly CustomResourceDefinition[],
): DesiredService | undefined {
  for (const { spec } of definitions) {
    for (const { name: version, served } of spec.versions) {
      if (served && serviceName({ group: spec.group, version }) === name) {
        return desired('true', { group: spec.group, version, ...customRank });
      }
    }
  }
  return undefined;
}

function desired(automanaged: Automanaged, spec: APIServiceSpec): DesiredService {
  const { group = '', version = '' } = spec;
  return {
    metadata: { name: serviceName({ group, version }), labels: { [automanagedLabel]: automanaged } },
    // Empty fields are absent in what is stored.
    spec: group === '' ? { version, ...ranks(spec) } : spec,
  };
}

function ranks({ groupPriorityMinimum, versionPriority }: APIServiceSpec) {
  return { groupPriorityMinimum, versionPriority };
}

export type RegistrationStep = 'create' | 'update' | 'delete' | 'leave';

export interface RegistrationState {
  readonly desired: APIService | undefined;
  readonly current: APIService | undefined;
  /** It was there when this server started. */
  readonly presentAtStart: boolean;
  /** This server has brought it about before. */
  readonly done: boolean;
  readonly specsMatch: boolean;
}

/** What is to be done about one name. */
export function registrationStep(state: RegistrationState): RegistrationStep {
  const wanted = state.desired && managedAs(state.desired);
  const found = state.current && managedAs(state.current);
  if (!state.current && !state.desired) return 'leave';
  if (wanted === 'onstart' && state.done) return 'leave';
  if (!state.current) return 'create';
  if (found === undefined) return 'leave';
  if (found === 'onstart' && (!state.presentAtStart || state.done)) return 'leave';
  if (!state.desired) return 'delete';
  return state.specsMatch ? 'leave' : 'update';
}

function managedAs({ metadata }: APIService): Automanaged | undefined {
  const value = metadata.labels?.[automanagedLabel];
  return value === 'onstart' || value === 'true' ? value : undefined;
}
