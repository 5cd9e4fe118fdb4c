/**
 * What creation and update do to an object of any kind, before and after what its own behaviour does: system fields, status kept
 * apart, the count of generations, and validation with all errors at once.
 */
import { semanticallyEqual } from '../../api/equality.ts';
import type { KindBehaviour, StrategyContext } from '../../api/kind.ts';
import { warningsAbout } from '../../api/warnings.ts';
import type { FieldError } from '../../apimachinery/field-error.ts';
import type { Draft, KubeObject } from '../../apimachinery/meta.ts';
import { dns1123Label } from '../../apimachinery/names.ts';
import { jsonEqual } from '../../apimachinery/patch/merge-patch.ts';
import { invalid } from '../../apimachinery/status.ts';
import type { StoredKind } from '../served-resource.ts';
import type { KnownSpec } from './makings.ts';
import { validateMetadata, validateMetadataUpdate } from './object-metadata.ts';
import { inPlace } from './standing-parts.ts';

type Fields = Record<string, unknown>;

/** Kinds whose `metadata.generation` upstream counts, where their behaviour does not say. */
const countedKinds: ReadonlySet<string> = new Set([
  'pods',
  'podtemplates',
  'replicationcontrollers',
  'deployments.apps',
  'daemonsets.apps',
  'statefulsets.apps',
  'replicasets.apps',
  'jobs.batch',
  'cronjobs.batch',
  'ingresses.networking.k8s.io',
  'networkpolicies.networking.k8s.io',
  'ingressclasses.networking.k8s.io',
  'endpointslices.discovery.k8s.io',
  'poddisruptionbudgets.policy',
  'priorityclasses.scheduling.k8s.io',
  'validatingwebhookconfigurations.admissionregistration.k8s.io',
  'mutatingwebhookconfigurations.admissionregistration.k8s.io',
  'validatingadmissionpolicies.admissionregistration.k8s.io',
  'validatingadmissionpolicybindings.admissionregistration.k8s.io',
  'mutatingadmissionpolicies.admissionregistration.k8s.io',
  'mutatingadmissionpolicybindings.admissionregistration.k8s.io',
  'flowschemas.flowcontrol.apiserver.k8s.io',
  'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io',
  'customresourcedefinitions.apiextensions.k8s.io',
  'deviceclasses.resource.k8s.io',
  'resourceslices.resource.k8s.io',
  'devicetaintrules.resource.k8s.io',
]);

function countsGeneration(kind: StoredKind): boolean {
  return kind.behaviour.countsGeneration ?? countedKinds.has(kind.name);
}

export function prepareForCreate(kind: StoredKind, object: Draft<KubeObject>, context: StrategyContext): void {
  if (kind.keepsStatus && kind.behaviour.statusOnCreate !== 'kept') delete (object as Fields).status;
  if (countsGeneration(kind)) object.metadata.generation = 1;
  kind.behaviour.prepareForCreate?.(object, context);
}

/** Throws 422 with all errors; warns of what is taken all the same, and tells whether there was something to warn of. */
export function validateNew(kind: StoredKind, object: KubeObject, context: CreationValidation): boolean {
  const { known } = context;
  const isValid = known !== undefined && jsonEqual(known.beside, besideSpec(kind.behaviour, object));
  refuse(kind, object, [
    ...context.namespaceErrors,
    ...validateMetadata(kind, object),
    ...((isValid ? undefined : kind.behaviour.validate?.(object, context)) ?? []),
  ]);
  remember(kind, object, context);
  // Of a name only those who are no label are warned, whatever the spec says.
  if (isValid && !known.warned && dns1123Label(object.metadata.name ?? '').length === 0) return false;
  const warnings = [...(kind.behaviour.warnings?.(object) ?? []), ...warningsAbout(kind.name, object)];
  for (const warning of warnings) context.warn(warning);
  return warnings.length > 0;
}

/** What validation cannot find out by itself: it does not wait. */
interface Found {
  readonly namespaceErrors: readonly FieldError[];
}

export interface CreationValidation extends ValidationContext, Found {
  /** The spec is one with which another object was created. */
  readonly known: KnownSpec | undefined;
}

export interface UpdateScope {
  /** Empty for the object itself. */
  readonly subresource: string;
}

export interface ValidationContext extends StrategyContext {
  /**
   * Specs that passed the rules of their kind, of kinds whose rules look at nothing but that and perhaps the annotations, each with these. One that
   * is stored is frozen, so that it is valid for as long as it lives.
   */
  readonly validSpecs: WeakMap<object, unknown>;
}

export interface UpdateValidation extends UpdateScope, ValidationContext, Found {
  /** The previous object's metadata was validated by the rules of `stored-encoding.ts`' version; what is shared needs no second look. */
  readonly isPreviousValid: boolean;
}

export function prepareForUpdate(
  kind: StoredKind,
  object: Draft<KubeObject>,
  previous: KubeObject,
  context: StrategyContext & UpdateScope,
): void {
  const { metadata } = object;
  const old = previous.metadata;
  const generation = old.generation;
  if (generation === undefined) delete metadata.generation;
  else metadata.generation = generation;
  if (context.subresource === 'status') prepareStatusUpdate(kind, object, previous, context);
  else if (context.subresource === '') prepareWholeUpdate(kind, object, previous, context);
  else prepareSubresource(kind, object, previous, context);
  keepSystemFields(object, previous);
}

function prepareWholeUpdate(
  kind: StoredKind,
  object: Draft<KubeObject>,
  previous: KubeObject,
  context: StrategyContext,
): void {
  if (kind.keepsStatus) keepField(object, previous, 'status');
  if (countsGeneration(kind) && contentDiffers(kind, object, previous)) {
    object.metadata.generation = (previous.metadata.generation ?? 0) + 1;
  }
  inPlace(object, () => kind.behaviour.prepareForUpdate?.(object, previous, context));
}

/** On `status` everything else stays as it was. */
function prepareStatusUpdate(
  kind: StoredKind,
  object: Draft<KubeObject>,
  previous: KubeObject,
  context: StrategyContext & UpdateScope,
): void {
  for (const field of new Set([...Object.keys(object), ...Object.keys(previous)])) {
    if (field !== 'status' && field !== 'metadata') keepField(object, previous, field);
  }
  prepareSubresource(kind, object, previous, context);
}

function prepareSubresource(
  kind: StoredKind,
  object: Draft<KubeObject>,
  previous: KubeObject,
  context: StrategyContext & UpdateScope,
): void {
  const strategy = kind.behaviour.subresources?.[context.subresource];
  inPlace(object, () => strategy?.prepareForUpdate?.(object, previous, context));
}

/** What no update may change, and what a client may leave out. */
function keepSystemFields({ metadata }: Draft<KubeObject>, previous: KubeObject): void {
  const old = previous.metadata;
  if (!metadata.uid && old.uid !== undefined) metadata.uid = old.uid;
  if (old.creationTimestamp !== undefined) metadata.creationTimestamp = old.creationTimestamp;
  else delete metadata.creationTimestamp;
  // Where the old object has none, a new one is not left out but refused.
  if (old.deletionTimestamp !== undefined) metadata.deletionTimestamp = old.deletionTimestamp;
  if (old.deletionGracePeriodSeconds !== undefined)
    metadata.deletionGracePeriodSeconds ??= old.deletionGracePeriodSeconds;
  delete metadata.selfLink;
}

/** Throws 422 with all errors; warns of what is taken all the same. */
export function validateUpdate(
  kind: StoredKind,
  object: KubeObject,
  previous: KubeObject,
  context: UpdateValidation,
): void {
  const own =
    context.subresource === ''
      ? contentErrors(kind, object, previous, context)
      : (kind.behaviour.subresources?.[context.subresource]?.validateUpdate?.(object, previous, context) ?? []);
  const ofMetadata = validateMetadataUpdate(kind, object, previous, context.isPreviousValid);
  // Upstream looks at the metadata of custom objects twice, and says so.
  const again = kind.custom ? ofMetadata : [];
  refuse(kind, object, [...context.namespaceErrors, ...ofMetadata, ...again, ...own]);
  if (context.subresource === '') {
    remember(kind, object, context);
    for (const warning of kind.behaviour.warnings?.(object, previous) ?? []) context.warn(warning);
  }
  const name = context.subresource === '' ? kind.name : `${kind.name}/${context.subresource}`;
  for (const warning of warningsAbout(name, object, previous)) context.warn(warning);
}

function contentErrors(
  { behaviour }: StoredKind,
  object: KubeObject,
  previous: KubeObject,
  context: UpdateValidation,
): readonly FieldError[] {
  const { spec } = object as Specified;
  const beside = besideSpec(behaviour, object);
  const stays =
    spec !== undefined && spec === (previous as Specified).spec && jsonEqual(beside, besideSpec(behaviour, previous));
  if (stays && context.validSpecs.has(spec) && jsonEqual(context.validSpecs.get(spec), beside)) return [];
  return behaviour.validateUpdate?.(object, previous, context) ?? behaviour.validate?.(object, context) ?? [];
}

function remember({ behaviour }: StoredKind, object: KubeObject, { validSpecs }: ValidationContext): void {
  const { spec } = object as Specified;
  if (behaviour.validates !== undefined && spec !== undefined) validSpecs.set(spec, besideSpec(behaviour, object));
}

/** What the rules of a kind look at besides the spec. */
export function besideSpec({ validates }: KindBehaviour, { metadata }: KubeObject): unknown {
  return validates === 'spec and annotations' ? metadata.annotations : undefined;
}

type Specified = KubeObject & { readonly spec?: object };

function refuse(kind: StoredKind, object: KubeObject, errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  const { group } = kind.hub;
  const name = object.metadata.name ?? '';
  // Of a custom object upstream knows no other kind than the one that it says it is.
  if (kind.custom) throw invalid({ group, kind: object.kind ?? kind.hub.kind }, name, errors);
  const distinct = errors.filter((error, index) => index === errors.findIndex((other) => sameError(other, error)));
  throw invalid({ group, kind: kind.hub.kind }, name, distinct);
}

/** A behaviour's `validateUpdate` may repeat what the generic part said. */
function sameError(a: FieldError, b: FieldError): boolean {
  return a.type === b.type && a.field === b.field && a.detail === b.detail;
}

function contentDiffers(kind: StoredKind, object: KubeObject, previous: KubeObject): boolean {
  const fields = new Set([...Object.keys(object), ...Object.keys(previous)]);
  for (const field of ['kind', 'apiVersion', 'metadata']) fields.delete(field);
  // To a custom resource without that subresource, status is a field like any other.
  if (!kind.custom || kind.keepsStatus) fields.delete('status');
  for (const field of fields) {
    if (!semanticallyEqual((object as unknown as Fields)[field], (previous as unknown as Fields)[field])) return true;
  }
  return false;
}

/** The very value of the previous object: a standing part. */
function keepField(object: Draft<KubeObject>, previous: KubeObject, field: string): void {
  const value = (previous as unknown as Fields)[field];
  if (value === undefined) delete (object as Fields)[field];
  else (object as Fields)[field] = value;
}
