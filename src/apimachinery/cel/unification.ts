/**
 * Decides whether a value of one type can stand where another is asked for, and what that makes of type variables.
 *
 * What variables stand for is kept in `Substitutions`, which forgets what a failed attempt had assumed. `dyn` goes with
 * everything; null goes with everything that can be absent.
 */
import { CelType, dynType, sameType } from './types.ts';

export class Substitutions {
  readonly #bound = new Map<string, CelType>();
  /** What to restore, newest last. */
  readonly #undo: { readonly name: string; readonly before: CelType | undefined }[] = [];

  find(type: CelType): CelType | undefined {
    return type.kind === 'parameter' ? this.#bound.get(type.name) : undefined;
  }

  bind(parameter: CelType, type: CelType): void {
    this.#undo.push({ name: parameter.name, before: this.#bound.get(parameter.name) });
    this.#bound.set(parameter.name, type);
  }

  /** Keeps what `attempt` binds only if it succeeds. */
  attempt(attempt: () => boolean): boolean {
    const mark = this.#undo.length;
    if (attempt()) return true;
    while (this.#undo.length > mark) {
      const { name, before } = this.#undo.pop()!;
      if (before === undefined) this.#bound.delete(name);
      else this.#bound.set(name, before);
    }
    return false;
  }

  assignable(type: CelType, to: CelType): boolean {
    return this.attempt(() => this.#assignable(type, to));
  }

  assignableAll(types: readonly CelType[], to: readonly CelType[]): boolean {
    return this.attempt(() => this.#assignableAll(types, to));
  }

  /** The type with its variables replaced; unbound ones become dyn where `final`. */
  substitute(type: CelType, final: boolean): CelType {
    if (type.kind === 'parameter') {
      const bound = this.find(type);
      if (bound) return this.substitute(bound, final);
      return final ? dynType : type;
    }
    if (type.parameters.length === 0 || type.kind === 'object') return type;
    const parameters = type.parameters.map((parameter) => this.substitute(parameter, final));
    if (parameters.every((parameter, index) => parameter === type.parameters[index])) return type;
    return withParameters(type, parameters);
  }

  #assignableAll(types: readonly CelType[], to: readonly CelType[]): boolean {
    return types.length === to.length && types.every((type, index) => this.#assignable(type, to[index]!));
  }

  #assignable(type: CelType, to: CelType): boolean {
    if (to.kind === 'parameter') {
      const outcome = this.#bindable(type, to);
      if (outcome !== 'unbound') return outcome === 'fits';
    }
    if (type.kind === 'parameter') return this.#bindable(to, type) === 'fits';
    if (isDynamic(type) || isDynamic(to)) return true;
    if (type.kind === 'null') return isNullable(to);
    if (to.kind === 'null') return isNullable(type);
    if (type.kind !== to.kind) return false;
    if (type.kind === 'type') return true;
    if (type.name !== to.name) return false;
    return type.kind === 'object' || this.#assignableAll(type.parameters, to.parameters);
  }

  /** Whether `parameter` stands, or can be made to stand, for `type`; 'unbound' where nothing speaks for or against. */
  #bindable(type: CelType, parameter: CelType): 'fits' | 'differs' | 'unbound' {
    if (sameType(type, parameter)) return 'fits';
    const bound = this.find(parameter);
    if (bound) {
      if (sameType(type, bound)) return 'fits';
      if (!this.#assignable(type, bound)) return 'differs';
      const general = mostGeneral(type, bound);
      if (!this.#occurs(parameter, general)) this.bind(parameter, general);
      return 'fits';
    }
    if (this.#occurs(parameter, type)) return 'unbound';
    this.bind(parameter, type);
    return 'fits';
  }

  #occurs(parameter: CelType, within: CelType): boolean {
    if (sameType(parameter, within)) return true;
    if (within.kind === 'parameter') {
      const bound = this.find(within);
      return bound !== undefined && this.#occurs(parameter, bound);
    }
    return within.kind !== 'object' && within.parameters.some((inner) => this.#occurs(parameter, inner));
  }
}

export const isDynamic = (type: CelType): boolean => type.kind === 'dyn' || type.kind === 'error';

function isNullable({ kind }: CelType): boolean {
  return kind === 'opaque' || kind === 'object' || kind === 'duration' || kind === 'timestamp' || kind === 'null';
}

/** Of two types known to go together, the one that admits more. */
export function mostGeneral(left: CelType, right: CelType): CelType {
  return isEqualOrLessSpecific(left, right) ? left : right;
}

function isEqualOrLessSpecific(left: CelType, right: CelType): boolean {
  if (left.kind === 'dyn' || left.kind === 'parameter') return true;
  if (right.kind === 'dyn' || right.kind === 'parameter' || left.kind !== right.kind) return false;
  if (left.kind === 'type') return true;
  if (left.name !== right.name || left.parameters.length !== right.parameters.length) return false;
  return left.parameters.every((parameter, index) => isEqualOrLessSpecific(parameter, right.parameters[index]!));
}

/** The same type over other parameters; whatever it declares beyond them stays. */
function withParameters(type: CelType, parameters: readonly CelType[]): CelType {
  return new CelType(type.kind, type.name, {
    parameters,
    ...(type.adapt && { adapt: type.adapt }),
    ...(type.equality && { equality: type.equality }),
  });
}
