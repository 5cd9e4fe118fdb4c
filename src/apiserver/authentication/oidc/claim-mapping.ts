/** The user that a token's claims make, by the configuration of its provider. */
import type { UserInfo } from '../../request.ts';
import { type Claims, evaluateClaims, evaluateUser, textsOf } from './claim-expressions.ts';
import type { JwtConfiguration } from './configuration.ts';
import type { CompiledMappings, RuleExpression } from './validation.ts';

/** Throws an `Error` in upstream's words for claims that make nobody. */
export function userOf(claims: Claims, provider: JwtConfiguration, mappings: CompiledMappings): UserInfo {
  const name = usernameOf(claims, provider, mappings);
  const groups = groupsOf(claims, provider, mappings);
  const uid = uidOf(claims, provider, mappings);
  const extra = extraOf(claims, mappings);
  const user: UserInfo = {
    name,
    ...(uid === '' ? {} : { uid }),
    groups,
    ...(Object.keys(extra).length > 0 ? { extra } : {}),
  };
  checkRequiredClaims(claims, provider);
  checkRules(mappings.claimRules, 'oidc: error evaluating claim validation expression', (rule) =>
    evaluateClaims(rule, claims),
  );
  checkRules(mappings.userRules, 'oidc: error evaluating user info validation rule', (rule) =>
    evaluateUser(rule, user),
  );
  return user;
}

function usernameOf(claims: Claims, { claimMappings }: JwtConfiguration, mappings: CompiledMappings): string {
  if (mappings.username) {
    const expression = mappings.username;
    const value = explained('oidc: error evaluating username claim expression', () => {
      const found = evaluateClaims(expression, claims);
      if (typeof found !== 'string') throw new Error('username claim expression must return a string');
      return found;
    });
    if (value === '') throw new Error('oidc: empty username via CEL expression is not allowed');
    return value;
  }
  const { claim = '', prefix = '' } = claimMappings?.username ?? {};
  const username = explained(`oidc: parse username claims ${JSON.stringify(claim)}`, () => textClaim(claims, claim));
  if (claim === 'email' && Object.hasOwn(claims, 'email_verified')) {
    const verified = claims.email_verified;
    if (typeof verified !== 'boolean' && verified !== null)
      throw new Error(`oidc: parse 'email_verified' claim: ${unmarshalProblem(verified, 'bool')}`);
    if (verified !== true) throw new Error('oidc: email not verified');
  }
  return `${prefix}${username}`;
}

function groupsOf(claims: Claims, { claimMappings }: JwtConfiguration, mappings: CompiledMappings): readonly string[] {
  const { claim = '', prefix = '' } = claimMappings?.groups ?? {};
  if (claim !== '' && Object.hasOwn(claims, claim)) {
    const value = claims[claim];
    const groups = Array.isArray(value) ? value : [value ?? ''];
    if (value === null) return [];
    const wrong = groups.find((group) => typeof group !== 'string');
    if (wrong !== undefined)
      throw new Error(`oidc: parse groups claim ${JSON.stringify(claim)}: ${unmarshalProblem(value, 'string')}`);
    return (groups as string[]).map((group) => `${prefix}${group}`);
  }
  const { groups } = mappings;
  if (!groups) return [];
  return explained('oidc: error evaluating group claim expression', () => textsOf(evaluateClaims(groups, claims)));
}

function uidOf(claims: Claims, { claimMappings }: JwtConfiguration, mappings: CompiledMappings): string {
  const { claim = '' } = claimMappings?.uid ?? {};
  if (claim !== '') return explained(`oidc: parse uid claim ${JSON.stringify(claim)}`, () => textClaim(claims, claim));
  const { uid } = mappings;
  if (!uid) return '';
  return explained('oidc: error evaluating uid claim expression', () => {
    const value = evaluateClaims(uid, claims);
    if (typeof value !== 'string') throw new Error('uid claim expression must return a string');
    return value;
  });
}

function extraOf(claims: Claims, { extra }: CompiledMappings): Readonly<Record<string, readonly string[]>> {
  const { jti } = claims;
  const values = extra.map((mapping) => {
    const value = evaluateClaims(mapping, claims);
    const failure = `oidc: error evaluating extra claim expression: ${mapping.text}`;
    return [mapping.key, explained(failure, () => textsOf(value))] as const;
  });
  return Object.fromEntries([
    ...(typeof jti === 'string' && jti !== ''
      ? [['authentication.kubernetes.io/credential-id', [`JTI=${jti}`]] as const]
      : []),
    ...values.filter(([, texts]) => texts.length > 0),
  ]);
}

function checkRequiredClaims(claims: Claims, { claimValidationRules = [] }: JwtConfiguration): void {
  for (const { claim = '', requiredValue = '' } of claimValidationRules) {
    if (claim === '') continue;
    if (!Object.hasOwn(claims, claim)) throw new Error(`oidc: required claim ${claim} not present in ID token`);
    const value = explained(`oidc: parse claim ${claim}`, () => textClaim(claims, claim));
    if (value === requiredValue) continue;
    const both = `Got = ${value}, want = ${requiredValue}`;
    throw new Error(`oidc: required claim ${claim} value does not match. ${both}`);
  }
}

function checkRules(
  rules: readonly RuleExpression[],
  failure: string,
  evaluate: (rule: RuleExpression) => unknown,
): void {
  explained(failure, () => {
    const values = rules.map((rule) => ({ rule, value: evaluate(rule) }));
    for (const { rule, value } of values) {
      if (typeof value !== 'boolean') throw new Error('validation expression must return a boolean');
      if (!value) throw new Error(`validation expression '${rule.text}' failed: ${rule.message}`);
    }
  });
}

/** As Go reads a JSON value into a text: null is the empty one. */
function textClaim(claims: Claims, name: string): string {
  if (!Object.hasOwn(claims, name)) throw new Error('claim not present');
  const value = claims[name];
  if (typeof value === 'string') return value;
  if (value === null) return '';
  throw new Error(unmarshalProblem(value, 'string'));
}

function unmarshalProblem(value: unknown, type: string): string {
  const kind = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
  return `json: cannot unmarshal ${kind} into Go value of type ${type}`;
}

function explained<T>(failure: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Error(`${failure}: ${(error as Error).message}`, { cause: error });
  }
}
