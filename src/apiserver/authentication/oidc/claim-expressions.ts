/**
 * Expressions over the claims of a token (`claims.roles.split(',')`) and over the user that they make (`!user.username.startsWith('system:')`).
 */
import {
  adapt,
  CelList,
  CelMap,
  type CelMapKey,
  type CelResult,
  CelType,
  type CelValue,
  type Environment,
  isCelError,
  listOf,
  mapOf,
  objectType,
  type Program,
  stringType,
} from '../../../apimachinery/cel/index.ts';
import { unescapeIdentifier } from '../../../apimachinery/cel/kubernetes/identifiers.ts';
import { baseEnvironment } from '../../../apimachinery/cel/library/environment.ts';
import type { UserInfo } from '../../request.ts';

export type Claims = Readonly<Record<string, unknown>>;

export interface ClaimExpression {
  readonly text: string;
  readonly program: Program;
}

/** Compiles what a configuration says; making one costs more than using it. */
export class ClaimExpressions {
  readonly #claims: Environment;
  readonly #user: Environment;

  constructor() {
    const base = baseEnvironment('stored');
    this.#claims = base.extend({ variables: { claims: mapOf(stringType, claimType) } });
    this.#user = base.extend({ variables: { user: userType } });
  }

  /** The expression, or what is wrong with it in upstream's words. */
  ofClaims(text: string, { mustBeBool = false } = {}): ClaimExpression | string {
    return compile(this.#claims, text, mustBeBool);
  }

  ofUser(text: string): ClaimExpression | string {
    return compile(this.#user, text, true);
  }
}

/** Throws an `Error` for an expression that fails over these claims. */
export function evaluateClaims(expression: ClaimExpression, claims: Claims): CelValue {
  return evaluate(expression, { claims: new ClaimMap(claims) });
}

export function evaluateUser(expression: ClaimExpression, user: UserInfo): CelValue {
  const { name: username, uid = '', groups, extra = {} } = user;
  return evaluate(expression, { user: { username, uid, groups, extra: new ClaimMap(extra) } });
}

/** Upstream's: a text, or a list of texts, in which nothing counts as empty texts and null. */
export function textsOf(value: CelValue): readonly string[] {
  const wrong = () => new Error('expression must return a string or a list of strings');
  if (value === null) return [];
  if (typeof value === 'string') return value === '' ? [] : [value];
  if (!(value instanceof CelList)) throw wrong();
  const texts = Array.from({ length: value.size }, (_, i) => value.at(i));
  if (!texts.every((text) => typeof text === 'string')) throw wrong();
  return texts.filter((text) => text !== '');
}

function evaluate({ program, text }: ClaimExpression, bindings: Readonly<Record<string, unknown>>): CelValue {
  const { value } = program.evaluate(bindings);
  if (isCelError(value)) throw new Error(`expression '${text}' resulted in error: ${value.message}`);
  return value;
}

function compile(environment: Environment, text: string, mustBeBool: boolean): ClaimExpression | string {
  const compiled = environment.compile(text);
  if (!compiled.program)
    return `${compiled.failsAlways ? 'program instantiation' : 'compilation'} failed: ${compiled.text}`;
  const { program } = compiled;
  return mustBeBool && program.resultType.kind !== 'bool' ? 'must evaluate to bool' : { text, program };
}

/** JSON as Go reads it where it knows nothing of it: every number has a fraction, and no claim is out of reach for its name. */
function claimValue(json: unknown): CelResult {
  if (typeof json === 'number') return json;
  if (Array.isArray(json)) return adapt(json, listOf(claimType));
  if (typeof json === 'object' && json !== null) return new ClaimMap(json as Claims);
  return adapt(json, stringType);
}

const claimType: CelType = new CelType('dyn', 'dyn', { adapt: claimValue });

/** `claims.example__dot__org` reads the claim `example.org`. */
class ClaimMap extends CelMap {
  readonly #claims: Claims;

  constructor(claims: Claims) {
    super();
    this.#claims = claims;
  }

  get size(): number {
    return Object.keys(this.#claims).length;
  }

  get(key: CelValue): CelResult | undefined {
    const name = this.#nameOf(key);
    return name === undefined ? undefined : claimValue(this.#claims[name]);
  }

  has(key: CelValue): boolean {
    return this.#nameOf(key) !== undefined;
  }

  keys(): Iterable<CelMapKey> {
    return Object.keys(this.#claims);
  }

  #nameOf(key: CelValue): string | undefined {
    if (typeof key !== 'string') return undefined;
    const name = unescapeIdentifier(key) ?? key;
    return Object.hasOwn(this.#claims, name) ? name : undefined;
  }
}

const texts = listOf(stringType);
const userFields: Readonly<Record<string, CelType>> = {
  username: stringType,
  uid: stringType,
  groups: texts,
  extra: mapOf(stringType, texts),
};
const userType = objectType('kubernetes.UserInfo', {
  field: (name) => (Object.hasOwn(userFields, name) ? { type: userFields[name]! } : undefined),
});
