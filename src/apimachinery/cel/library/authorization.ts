/**
 * `authorizer.group("apps").resource("deployments").check("create").allowed()`: whether the user of a request, or a service account,
 * may do something.
 *
 * An evaluation is synchronous and asking an authorizer is not. So a check that has no answer yet is written down in the
 * `DecisionLedger` and gives an error, which like every error spreads unless the result does not hang on it (`false && check`).
 * `settled` evaluates, has the checks answered that were written down, and evaluates again until all that matters is answered.
 * A check costs so much that no budget pays for three of them, which bounds the rounds; one ledger serves all expressions of a
 * request, so no question is asked twice.
 */
import { parseFieldSelector } from '../../fields.ts';
import { parseLabelSelector } from '../../labels.ts';
import { nameIsDnsLabel, nameIsDnsSubdomain } from '../../names.ts';
import {
  boolType,
  CelError,
  CelOpaque,
  type CelResult,
  type CelType,
  costs,
  type FunctionDeclaration,
  fixed,
  type Library,
  type Overload,
  objectType,
  plus,
  type SizeRange,
  scaled,
  sizeForCost,
  stringType,
} from '../index.ts';
import { constantCost, unitCost } from './call-costs.ts';

/** Who is asked about. */
export interface CheckedUser {
  readonly name: string;
  readonly uid?: string | undefined;
  readonly groups?: readonly string[] | undefined;
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** A question to the authorizer: may `user` do `verb` to a resource, or to a path outside the API's resources? */
export interface AccessCheck {
  readonly user: CheckedUser;
  readonly verb: string;
  readonly path?: string;
  readonly resource?: CheckedResource;
}

export interface CheckedResource {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** As written; empty where there is none. Whether it parses is the authorizer's to see (`selectorFault`). */
  readonly fieldSelector: string;
  readonly labelSelector: string;
}

export interface AccessDecision {
  readonly allowed: boolean;
  readonly reason: string;
  /** Why the authorizer could not decide. */
  readonly error?: string | undefined;
}

export interface AccessAuthorizer {
  authorize(check: AccessCheck): Promise<AccessDecision>;
}

/** What is known and what was asked, over the evaluations of one request. */
export class DecisionLedger {
  readonly #decisions = new Map<string, AccessDecision>();
  readonly #pending = new Map<string, AccessCheck>();

  /** The answer, or undefined after writing the question down. */
  decisionFor(check: AccessCheck): AccessDecision | undefined {
    const key = JSON.stringify(check);
    const decision = this.#decisions.get(key);
    if (!decision) this.#pending.set(key, check);
    return decision;
  }

  get hasPending(): boolean {
    return this.#pending.size > 0;
  }

  /** Forgets what was written down in an evaluation whose result does not hang on it. */
  forgetPending(): void {
    this.#pending.clear();
  }

  async answerPending(authorizer: AccessAuthorizer): Promise<void> {
    const asked = [...this.#pending];
    this.#pending.clear();
    for (const [key, check] of asked) this.#decisions.set(key, await decide(authorizer, check));
  }
}

async function decide(authorizer: AccessAuthorizer, check: AccessCheck): Promise<AccessDecision> {
  try {
    return await authorizer.authorize(check);
  } catch (error) {
    return { allowed: false, reason: '', error: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * The result of `evaluate` once every check that it hangs on is answered. `evaluate` must be free of effects: it runs as often as it
 * meets new checks, and gives a `CelResult` or what holds one.
 */
export async function settled<T>(
  ledger: DecisionLedger,
  authorizer: AccessAuthorizer,
  evaluate: () => { readonly result: CelResult } & T,
): Promise<{ readonly result: CelResult } & T> {
  for (;;) {
    const evaluated = evaluate();
    if (!ledger.hasPending || !(evaluated.result instanceof CelError)) {
      ledger.forgetPending();
      return evaluated;
    }
    await ledger.answerPending(authorizer);
  }
}

/** What is wrong with a selector of a check, for an authorizer to report or to ignore. */
export function selectorFault(kind: 'field' | 'label', selector: string): string | undefined {
  try {
    if (kind === 'field') parseFieldSelector(selector);
    else parseLabelSelector(selector);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

const comparedAtUnitCost = { equality: { atRunTime: 1, estimate: () => fixed(1) } };
const named = (name: string) => objectType(`kubernetes.authorization.${name}`, comparedAtUnitCost);

export const authorizerType: CelType = named('Authorizer');
const pathCheckType: CelType = named('PathCheck');
const groupCheckType: CelType = named('GroupCheck');
export const resourceCheckType: CelType = named('ResourceCheck');
const decisionType: CelType = named('Decision');

/** A value that only its own functions look into; two are equal if they say the same. */
abstract class CheckValue extends CelOpaque {
  abstract readonly said: unknown;
  equals(other: CelOpaque): boolean {
    return other instanceof CheckValue && JSON.stringify(other.said) === JSON.stringify(this.said);
  }
}

/** The variable `authorizer`. */
export class AuthorizerValue extends CheckValue {
  readonly type = authorizerType;
  readonly user: CheckedUser;
  readonly ledger: DecisionLedger;
  constructor(user: CheckedUser, ledger: DecisionLedger) {
    super();
    this.user = user;
    this.ledger = ledger;
  }
  get said(): unknown {
    return this.user;
  }
  ask(check: Omit<AccessCheck, 'user'>): CelResult {
    const decision = this.ledger.decisionFor({ user: this.user, ...check });
    return decision ? new DecisionValue(decision) : new CelError('authorization check is not answered yet');
  }
}

class PathCheckValue extends CheckValue {
  readonly type = pathCheckType;
  readonly authorizer: AuthorizerValue;
  readonly path: string;
  constructor(authorizer: AuthorizerValue, path: string) {
    super();
    this.authorizer = authorizer;
    this.path = path;
  }
  get said(): unknown {
    return [this.authorizer.said, this.path];
  }
}

class GroupCheckValue extends CheckValue {
  readonly type = groupCheckType;
  readonly authorizer: AuthorizerValue;
  readonly group: string;
  constructor(authorizer: AuthorizerValue, group: string) {
    super();
    this.authorizer = authorizer;
    this.group = group;
  }
  get said(): unknown {
    return [this.authorizer.said, this.group];
  }
}

/** The variable `authorizer.requestResource`, and what `group(...).resource(...)` gives. */
export class ResourceCheckValue extends CheckValue {
  readonly type = resourceCheckType;
  readonly authorizer: AuthorizerValue;
  readonly resource: CheckedResource;
  constructor(authorizer: AuthorizerValue, resource: CheckedResource) {
    super();
    this.authorizer = authorizer;
    this.resource = resource;
  }
  get said(): unknown {
    return [this.authorizer.said, this.resource];
  }
}

class DecisionValue extends CheckValue {
  readonly type = decisionType;
  readonly decision: AccessDecision;
  constructor(decision: AccessDecision) {
    super();
    this.decision = decision;
  }
  get said(): unknown {
    return this.decision;
  }
}

export const authorization: Library = {
  types: [authorizerType, pathCheckType, groupCheckType, resourceCheckType, decisionType],
  functions: [
    step(
      'path',
      'authorizer_path',
      [authorizerType, stringType],
      pathCheckType,
      (from: AuthorizerValue, path: string) =>
        path.trim() === '' ? new CelError('path must not be empty') : new PathCheckValue(from, path),
    ),
    step(
      'group',
      'authorizer_group',
      [authorizerType, stringType],
      groupCheckType,
      (from: AuthorizerValue, group: string) => new GroupCheckValue(from, group),
    ),
    step(
      'serviceAccount',
      'authorizer_serviceaccount',
      [authorizerType, stringType, stringType],
      authorizerType,
      serviceAccount,
    ),
    step(
      'resource',
      'groupcheck_resource',
      [groupCheckType, stringType],
      resourceCheckType,
      ({ authorizer, group }: GroupCheckValue, resource: string) =>
        resource.trim() === ''
          ? new CelError('resource must not be empty')
          : new ResourceCheckValue(authorizer, { ...wholeResource, group, resource }),
    ),
    narrowing('subresource', 'resourcecheck_subresource'),
    narrowing('namespace', 'resourcecheck_namespace'),
    narrowing('name', 'resourcecheck_name'),
    {
      name: 'check',
      overloads: [
        {
          id: 'pathcheck_check',
          member: true,
          parameters: [pathCheckType, stringType],
          result: decisionType,
          call: ({ authorizer, path }: PathCheckValue, verb: string) => authorizer.ask({ verb, path }),
        },
        {
          id: 'resourcecheck_check',
          member: true,
          parameters: [resourceCheckType, stringType],
          result: decisionType,
          call: ({ authorizer, resource }: ResourceCheckValue, verb: string) => authorizer.ask({ verb, resource }),
        },
      ],
      ...constantCost(350_000),
    },
    outcome('errored', boolType, (decision) => decision.error !== undefined),
    outcome('error', stringType, (decision) => decision.error ?? ''),
    outcome('allowed', boolType, (decision) => decision.allowed),
    outcome('reason', stringType, (decision) => decision.reason),
  ],
};

/** `fieldSelector` and `labelSelector`, a library of their own because they came later. */
export const authorizationSelectors: Library = {
  types: [resourceCheckType],
  functions: [
    { ...narrowing('fieldSelector', 'authorizer_fieldselector'), ...selectorCost() },
    { ...narrowing('labelSelector', 'authorizer_labelselector'), ...selectorCost() },
  ],
};

const wholeResource = { subresource: '', namespace: '', name: '', fieldSelector: '', labelSelector: '' };

function step(
  name: string,
  id: string,
  parameters: Overload['parameters'],
  result: CelType,
  call: Overload['call'],
): FunctionDeclaration {
  return { name, overloads: [{ id, member: true, parameters, result, call }], ...unitCost };
}

function narrowing(name: keyof typeof wholeResource, id: string): FunctionDeclaration {
  const call = ({ authorizer, resource }: ResourceCheckValue, value: string) =>
    new ResourceCheckValue(authorizer, { ...resource, [name]: value });
  return step(name, id, [resourceCheckType, stringType], resourceCheckType, call);
}

function outcome(
  name: string,
  result: CelType,
  read: (decision: AccessDecision) => boolean | string,
): FunctionDeclaration {
  return step(name, `decision_${name}`, [decisionType], result, (value: DecisionValue) => read(value.decision));
}

function serviceAccount(from: AuthorizerValue, namespace: string, name: string): CelResult {
  if (nameIsDnsSubdomain(name, false).length > 0) return new CelError('Invalid service account name');
  if (nameIsDnsLabel(namespace, false).length > 0) return new CelError('Invalid service account namespace');
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
  return new AuthorizerValue({ name: `system:serviceaccount:${namespace}:${name}`, groups }, from.ledger);
}

/** Reading a selector: a walk over it, and a requirement, as large as a list and an object, every two characters. */
function selectorCost(): Required<Pick<FunctionDeclaration, 'cost' | 'estimate'>> {
  const ofLength = (length: SizeRange) => {
    const walk = scaled(length, costs.traversal);
    const requirements = scaled(scaled(length, 0.5), costs.list + costs.object);
    return plus(plus(fixed(costs.list), walk), requirements);
  };
  return {
    cost: ([, selector]) => ofLength(fixed(sizeForCost(selector!))).max,
    estimate: ({ args, sizeOf }) => ({ cost: ofLength(sizeOf(args[0]!)) }),
  };
}
