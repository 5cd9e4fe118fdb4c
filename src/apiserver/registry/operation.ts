/**
 * One request for a resource while it is worked on: who asks, for what, in which form the answer goes out, and what all steps need
 * (storage, admission, clock). Made by the dispatcher, handed to the verbs.
 */
import type { NamespaceDemand } from '../../api/kind.ts';
import { type FieldError, forbidden, internal } from '../../apimachinery/field-error.ts';
import { quote } from '../../apimachinery/go-text.ts';
import type { LabelMatcher } from '../../apimachinery/labels.ts';
import type { Draft, KubeObject } from '../../apimachinery/meta.ts';
import type { GroupVersionKind, GroupVersionResource } from '../../apimachinery/resource.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { AdmissionAttributes, Operation as AdmissionOperation } from '../admission/admission.ts';
import type { AdmissionChain } from '../admission/chain.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { Output } from '../encoding/negotiation.ts';
import type { ReplyContext } from '../encoding/replies.ts';
import type { ApiRequest, RequestInfo, UserInfo } from '../request.ts';
import type { ServedResource, StoredKind } from '../served-resource.ts';
import { parseIncludeObject } from '../table/table.ts';
import type { Representation, Wire } from '../watch-cache/cache-event.ts';
import type { Envelope } from '../watch-cache/encoded-object.ts';
import type { KindStorage } from './kind-storage.ts';
import type { FieldSetPool, SpecPool } from './makings.ts';
import type { ResourceHooks } from './resource-hooks.ts';
import type { ValidationContext } from './strategy.ts';
import type { WatchLifetimes } from './watch-lifetimes.ts';

/** What all operations of a server share. */
export interface RegistryEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly admission: () => AdmissionChain;
  readonly authorizer: () => Authorizer;
  readonly fieldSets: FieldSetPool;
  readonly specs: SpecPool;
  /** Those that were named when the server started. */
  readonly featureGates: Readonly<Record<string, boolean>> | undefined;
  /** Shared by all kinds: see `strategy.ts`. */
  readonly validSpecs: WeakMap<object, unknown>;
  /** Shared by all kinds: see `fillDefaults`. */
  readonly completeParts: WeakSet<object>;
  readonly watchLifetimes: WatchLifetimes;
  /** Lists that are looking through objects at this moment; they share what one may take. */
  readonly scans: { active: number };
  /**
   * Pages of an older revision have expired, though it may still be kept for those who look back: that a list takes no longer than one or
   * two intervals of compaction is what clients are written for.
   */
  pagesReachBackTo(): number;
  /** The present second in RFC 3339, as objects are stamped with it. */
  nowText(): string;
  /** Parsed once, so that equal selectors are one matcher. Throws `SelectorError`. */
  labelSelector(text: string): LabelMatcher;
  /** Storage of a resource; undefined for what is not stored. */
  storageOf(kind: StoredKind): KindStorage;
  /** By the kind's name, as in `poddisruptionbudgets.policy`; undefined when it is not served. */
  storageNamed(name: string): KindStorage | undefined;
  hooksOf(kind: StoredKind): ResourceHooks;
  envelopeOf(resource: ServedResource): Envelope;
  /** The one by which all watchers of whole objects of this version and media type share frames. */
  representationOf(resource: ServedResource, wire: Wire): Representation;
}

export interface Operation {
  readonly environment: RegistryEnvironment;
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly resource: ServedResource;
  readonly kind: StoredKind;
  readonly storage: KindStorage;
  readonly subresource: string;
  readonly warnings: string[];
  readonly reply: ReplyContext;
  /**
   * To be awaited between the steps of a write. An object of a hundred thousand keys takes tenths of a second for each; when that is so, what
   * has come in meanwhile is seen to first.
   */
  turnForOthers(): Promise<void> | undefined;
}

/** No step of an ordinary object takes as long, on a busy machine either. */
const shortStepMs = 50;

export function turnsOf(clock: Clock): Operation['turnForOthers'] {
  let beganMs = clock.monotonic();
  return () => {
    if (clock.monotonic() - beganMs < shortStepMs) return undefined;
    return new Promise((resolve) => {
      clock.soon(() => {
        beganMs = clock.monotonic();
        resolve();
      });
    });
  };
}

export function createOperation(
  environment: RegistryEnvironment,
  target: {
    readonly request: ApiRequest;
    readonly info: RequestInfo;
    readonly resource: ServedResource;
    readonly output: Output;
  },
): Operation {
  const { request, info, resource, output } = target;
  const kind = resource.stored!;
  return {
    environment,
    request,
    info,
    user: request.user!,
    resource,
    kind,
    storage: environment.storageOf(kind),
    subresource: info.subresource,
    warnings: [],
    turnForOthers: turnsOf(environment.clock),
    reply: {
      output,
      resource,
      envelope: environment.envelopeOf(resource),
      includeObject: output.transform ? parseIncludeObject(request.query.get('includeObject')) : 'Metadata',
      clock: environment.clock,
    },
  };
}

/** Where the named object lies. */
export function keyOf({ storage, info }: Operation): string {
  return storage.key(info.namespace, info.name);
}

export function strategyContext(operation: Operation): ValidationContext {
  return {
    validSpecs: operation.environment.validSpecs,
    now: operation.environment.nowText(),
    user: operation.user,
    apiVersion: operation.resource.apiVersion,
    featureGates: operation.environment.featureGates,
    // An attempt that is made again says the same again.
    warn: (message) => void (operation.warnings.includes(message) || operation.warnings.push(message)),
  };
}

/** What an object asks of its namespace, of which its kind alone knows nothing. Such objects are rare: no other waits for it. */
export async function namespaceErrors(
  { environment, info }: Pick<Operation, 'environment' | 'info'>,
  { at, label, value, purpose, shortPurpose }: NamespaceDemand,
): Promise<readonly FieldError[]> {
  const storage = environment.storageNamed('namespaces');
  const namespace = await storage?.read(storage.key('', info.namespace));
  if (namespace === undefined) {
    const problem = `namespaces ${quote(info.namespace)} not found`;
    return [internal(at, `could not retrieve namespace to verify ${shortPurpose}: ${problem}`)];
  }
  if (namespace.object().metadata.labels?.[label] === value) return [];
  return [forbidden(at, `${purpose} requires the \`${label}: ${value}\` label on the containing namespace`)];
}

export interface AdmissionRequest {
  readonly operation: AdmissionOperation;
  readonly object: Draft<KubeObject> | undefined;
  readonly oldObject: KubeObject | undefined;
  readonly name: string;
  readonly dryRun: boolean;
  readonly options: unknown;
  /** Where it is not the resource's own (Binding, Eviction, Scale). */
  readonly kind?: GroupVersionKind;
}

/** Undefined when no plugin looks at such a request. */
export function admissionAttributes(operation: Operation, request: AdmissionRequest): AdmissionAttributes | undefined {
  const { environment, resource, subresource } = operation;
  if (!environment.admission().handles(request.operation, resource.row, subresource)) return undefined;
  return new RequestAttributes(operation, request);
}

/** What nearly nobody asks for is made when somebody does. */
class RequestAttributes implements AdmissionAttributes {
  readonly operation: AdmissionOperation;
  readonly resource: GroupVersionResource;
  readonly kind: GroupVersionKind;
  readonly served: ServedResource | undefined;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  readonly object: Draft<KubeObject> | undefined;
  readonly oldObject: KubeObject | undefined;
  readonly #source: Operation;
  readonly #request: AdmissionRequest;

  constructor(source: Operation, request: AdmissionRequest) {
    this.#source = source;
    this.#request = request;
    this.operation = request.operation;
    this.resource = source.resource.row;
    this.kind = request.kind ?? source.resource.row;
    this.served = request.kind ? undefined : source.resource;
    this.subresource = source.subresource;
    // A namespace is in itself, also when it is only about to be.
    this.namespace = source.info.namespace || (source.kind.name === 'namespaces' ? request.name : '');
    this.name = request.name;
    this.user = source.user;
    this.dryRun = request.dryRun;
    this.object = request.object;
    this.oldObject = request.oldObject;
  }

  get options(): unknown {
    return operationOptions(this.#request);
  }

  get signal(): AbortSignal {
    return this.#source.request.signal;
  }

  readonly warn = (message: string): void => void this.#source.warnings.push(message);

  annotate(...line: Parameters<NonNullable<AdmissionAttributes['annotate']>>): void {
    this.#source.request.audit?.annotate(...line);
  }
}

/** A patch is an update to admission, or a creation. */
function operationOptions({ operation, options }: AdmissionRequest): unknown {
  const { kind: _kind, apiVersion: _apiVersion, force: _force, ...rest } = options as Readonly<Record<string, unknown>>;
  const kind = operation === 'CREATE' ? 'CreateOptions' : operation === 'UPDATE' ? 'UpdateOptions' : 'DeleteOptions';
  return { kind, apiVersion: 'meta.k8s.io/v1', ...rest };
}
