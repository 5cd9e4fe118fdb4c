/**
 * What a kind adds to its row in the tables: defaulting, what creation and update do to it before validation, validation, and
 * how `kubectl get` prints it. One file per kind (`core/v1/pod.ts`) exports one `KindBehaviour`; `behaviours.ts` collects them.
 * A kind without a file of its own gets the generic behaviour (metadata rules, `generation`, status kept apart).
 */
import type { FieldError, FieldPath } from '../apimachinery/field-error.ts';
import type { Draft, KubeObject } from '../apimachinery/meta.ts';
import type { ResourceType } from '../apimachinery/resource.ts';

export interface StrategyContext {
  /** RFC 3339 with seconds. */
  readonly now: string;
  /** Name of the user who asks; some kinds record it. */
  readonly user: {
    readonly name: string;
    readonly uid?: string | undefined;
    readonly groups: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
  };
  /** The version in which the client speaks; unset: the one that is stored. */
  readonly apiVersion?: string | undefined;
  /** Gates that were named when the server started; the others are as they are by default. */
  readonly featureGates?: Readonly<Record<string, boolean>> | undefined;
  /** Adds a `Warning` header for the client. */
  warn(message: string): void;
}

export interface Column<T> {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  readonly description?: string;
  /** 0: always shown; 1: only with `-o wide`. */
  readonly priority?: number;
  /** `nowMs` is the wall clock, for ages. */
  cell(object: T, nowMs: number): unknown;
}

/** A `TableRowCondition`. */
export interface RowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** What differs on a subresource such as `status`. */
export interface SubresourceStrategy<T> {
  /** After the generic part: on `status` everything but metadata and status is kept from `previous`. */
  prepareForUpdate?(object: Draft<T>, previous: T, context: StrategyContext): void;
  validateUpdate?(object: T, previous: T, context?: ValidationContext): readonly FieldError[];
  namespaceDemand?(object: T, previous: T): NamespaceDemand | undefined;
}

export type ValidationContext = Pick<StrategyContext, 'warn' | 'apiVersion'>;

/** What an object may only have in a namespace with this label. */
export interface NamespaceDemand {
  readonly at: FieldPath;
  readonly label: string;
  readonly value: string;
  /** What is asked for, in the words of errors. */
  readonly purpose: string;
  /** The same, where it is that that could not be found out. */
  readonly shortPurpose: string;
}

export interface KindBehaviour<T extends KubeObject = KubeObject> {
  readonly resource: ResourceType<T>;
  /**
   * Fills in what is unset, in upstream's order. Also run on objects read from storage. Must be idempotent, and set nothing to what it is: the
   * parts of an object may be frozen, and are copied only for who changes them.
   */
  defaults?(object: Draft<T>): void;
  /**
   * Whether `defaults` takes each member of an object by itself, leaves metadata alone and adds no member but spec: one that was found complete
   * and stays the very same need not be looked at again. Default: who knows what.
   */
  readonly defaultsByMember?: boolean;
  /** After the generic part (uid, creationTimestamp, status dropped where there is a status subresource, generation 1). */
  prepareForCreate?(object: Draft<T>, context: StrategyContext): void;
  /**
   * After the generic part (status kept from `previous`, generation raised when anything outside metadata and status changed). May be run
   * a second time on what it left behind.
   */
  prepareForUpdate?(object: Draft<T>, previous: T, context: StrategyContext): void;
  /** Asked at creation; of updates only subresources have a word. */
  namespaceDemand?(object: T): NamespaceDemand | undefined;
  /** All errors at once of an object to be created; metadata is validated by the generic part with `validateName`. */
  validate?(object: T, context?: ValidationContext): readonly FieldError[];
  /**
   * All errors at once of an update, those that creation would find included: it is called in the stead of `validate`. A kind
   * without it is validated by `validate` on updates too. Subresources have their own. What is wrong and was so before may be warned of.
   */
  validateUpdate?(object: T, previous: T, context?: ValidationContext): readonly FieldError[];
  /** What the client is told of an object that is taken all the same, on top of what `warnings.ts` knows. */
  warnings?(object: T, previous?: T): readonly string[];
  /**
   * All that `validate` and `validateUpdate` look at, but for the name: what of it was found valid once and stays the very same need not be
   * looked at again. Default: who knows what.
   */
  readonly validates?: 'spec' | 'spec and annotations';
  /** Whether `validate` looks at the name of this object too, which is then no example of what others may have. Default: of none. */
  validatesName?(object: T): boolean;
  /** Rule for metadata.name; default DNS subdomain. Returns messages. */
  validateName?(name: string, prefix: boolean): readonly string[];
  /** Whether status is kept apart from spec (there is a status subresource). Default: as the resource table says. */
  readonly keepsStatus?: boolean;
  /** A status kept apart is dropped on creation, but for kinds that register themselves with it (Nodes). Default dropped. */
  readonly statusOnCreate?: 'dropped' | 'kept';
  /** Whether `metadata.generation` is counted. Default: true for kinds with a spec whose upstream strategy counts it. */
  readonly countsGeneration?: boolean;
  readonly subresources?: Readonly<Record<string, SubresourceStrategy<T>>>;
  readonly columns?: readonly Column<T>[];
  /** What a table says about a row as a whole, e.g. that a Pod has completed. */
  rowConditions?(object: T): readonly RowCondition[];
  /** Order of rows within a list; default: as stored. */
  compareRows?(a: T, b: T): number;
  /** Whether an update of an object that is not there creates it. Default false. */
  readonly allowCreateOnUpdate?: boolean;
  /** Whether an update without resourceVersion is taken. Default true. */
  readonly allowUnconditionalUpdate?: boolean;
  /** What happens to dependents when the client does not say. Default background. */
  readonly defaultPropagation?: 'background' | 'orphan';
  /**
   * Seconds of grace that a deletion starts with; 0 or undefined: deleted at once. `requested` is the client's wish.
   */
  gracePeriodSeconds?(object: T, requested: number | undefined): number | undefined;
  /** For a kind that never goes at once: what the first request to delete does to it, which says how it will go. `now` in RFC 3339. */
  beginDeletion?(object: Draft<T>, now: string): void;
  /** Values for field selectors beyond metadata.name and metadata.namespace. */
  selectableFields?(object: T): Readonly<Record<string, string>>;
  /** Seconds after which the object disappears (Events). */
  readonly ttlSeconds?: number;
}
