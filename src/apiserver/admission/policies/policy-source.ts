/**
 * The admission policies that are in force: those with at least one binding, each with its bindings and its compiled expressions. Policies and
 * bindings are taken in the order of their names. What is compiled is kept until the policy changes.
 */
import type { MatchResources, ParamKind, ParamRef } from '../../../api/gen/admissionregistration-v1.ts';
import type { KubeObject } from '../../../apimachinery/meta.ts';
import type { Informer } from '../../../reconcile/informer.ts';

export interface Policy extends KubeObject {
  readonly spec: {
    readonly paramKind?: ParamKind | undefined;
    readonly matchConstraints?: MatchResources | undefined;
    readonly failurePolicy?: string | undefined;
  };
}

export interface PolicyBinding extends KubeObject {
  readonly spec: {
    readonly policyName?: string | undefined;
    readonly paramRef?: ParamRef | undefined;
    readonly matchResources?: MatchResources | undefined;
  };
}

export interface PolicyHook<P, B, E> {
  readonly policy: P;
  readonly bindings: readonly B[];
  /** Compiled when a request first concerns the policy. */
  evaluator(): E;
}

export type Source<T> = Pick<Informer<T>, 'list' | 'onChange'>;

export class PolicySource<P extends Policy, B extends PolicyBinding, E> {
  readonly #policies: Source<P>;
  readonly #bindings: Source<B>;
  readonly #compile: (policy: P) => E;
  readonly #compiled = new WeakMap<P, E>();
  #hooks: readonly PolicyHook<P, B, E>[] | undefined;

  constructor(policies: Source<P>, bindings: Source<B>, compile: (policy: P) => E) {
    this.#policies = policies;
    this.#bindings = bindings;
    this.#compile = compile;
    const changed = () => {
      this.#hooks = undefined;
    };
    policies.onChange({ added: changed, updated: changed, deleted: changed });
    bindings.onChange({ added: changed, updated: changed, deleted: changed });
  }

  hooks(): readonly PolicyHook<P, B, E>[] {
    this.#hooks ??= this.#collect();
    return this.#hooks;
  }

  #collect(): readonly PolicyHook<P, B, E>[] {
    const byPolicy = Map.groupBy(byName(this.#bindings.list()), ({ spec }) => spec.policyName ?? '');
    return byName(this.#policies.list()).flatMap((policy) => {
      const bindings = byPolicy.get(policy.metadata.name ?? '');
      return bindings ? [{ policy, bindings, evaluator: () => this.#evaluatorOf(policy) }] : [];
    });
  }

  #evaluatorOf(policy: P): E {
    let evaluator = this.#compiled.get(policy);
    if (evaluator === undefined) {
      evaluator = this.#compile(policy);
      this.#compiled.set(policy, evaluator);
    }
    return evaluator;
  }
}

function byName<T extends KubeObject>(objects: readonly T[]): T[] {
  const name = ({ metadata }: T) => metadata.name ?? '';
  return objects.toSorted((a, b) => (name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : 0));
}
