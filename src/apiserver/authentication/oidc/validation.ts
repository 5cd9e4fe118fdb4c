/**
 * What may stand in an `AuthenticationConfiguration`, in upstream's words, and its expressions compiled on the way: whoever has validated a
 * provider can map its claims.
 */
import { validateDomainPrefixedPath } from '../../../api/validation.ts';
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  path,
  required,
  tooMany,
} from '../../../apimachinery/field-error.ts';
import { parseCertificates } from '../../../pki/certificate.ts';
import { type ClaimExpression, ClaimExpressions } from './claim-expressions.ts';
import type {
  AuthenticationConfiguration,
  ClaimMappings,
  ClaimOrExpression,
  ClaimValidationRule,
  IssuerConfiguration,
  JwtConfiguration,
  PrefixedClaimOrExpression,
  UserValidationRule,
} from './configuration.ts';

export interface RuleExpression extends ClaimExpression {
  readonly message: string;
}

/** The expressions of one provider; absent where a claim is taken as it is. */
export interface CompiledMappings {
  readonly username?: ClaimExpression | undefined;
  readonly groups?: ClaimExpression | undefined;
  readonly uid?: ClaimExpression | undefined;
  readonly extra: readonly (ClaimExpression & { readonly key: string })[];
  readonly claimRules: readonly RuleExpression[];
  readonly userRules: readonly RuleExpression[];
}

export interface ValidatedConfiguration {
  readonly errors: readonly FieldError[];
  /** By the index of the provider. */
  readonly mappings: readonly CompiledMappings[];
}

const mostProviders = 64;

/** `disallowedIssuers` are those of service account tokens: no provider may pass its tokens off as such. */
export function validateAuthenticationConfiguration(
  { jwt = [], anonymous }: AuthenticationConfiguration,
  disallowedIssuers: readonly string[],
): ValidatedConfiguration {
  const at = path('jwt');
  if (jwt.length > mostProviders) return { errors: [tooMany(at, jwt.length, mostProviders)], mappings: [] };
  const errors: FieldError[] = [];
  const expressions = jwt.length > 0 ? new ClaimExpressions() : undefined;
  const issuers = new Set<string>();
  const discoveryUrls = new Set<string>();
  const mappings = jwt.map((provider, i) => {
    const place = at.index(i);
    const validated = new ProviderValidation(expressions!, errors).validate(provider, place, disallowedIssuers);
    const { url = '', discoveryURL = '' } = provider.issuer ?? {};
    if (issuers.has(url)) errors.push(duplicate(place.child('issuer', 'url'), url));
    issuers.add(url);
    if (discoveryURL === '') return validated;
    if (discoveryUrls.has(discoveryURL)) errors.push(duplicate(place.child('issuer', 'discoveryURL'), discoveryURL));
    discoveryUrls.add(discoveryURL);
    return validated;
  });
  const { enabled = false, conditions = [] } = anonymous ?? {};
  if (!enabled && conditions.length > 0) {
    const detail = 'enabled should be set to true when conditions are defined';
    errors.push(invalid(path('anonymous', 'conditions'), conditions, detail));
  }
  return { errors, mappings };
}

/** Of one provider. */
class ProviderValidation {
  readonly #expressions: ClaimExpressions;
  readonly #errors: FieldError[];
  /** An address that nobody has verified must not become a user's name. */
  #usesEmail = false;
  #usesEmailVerified = false;

  constructor(expressions: ClaimExpressions, errors: FieldError[]) {
    this.#expressions = expressions;
    this.#errors = errors;
  }

  validate(provider: JwtConfiguration, at: FieldPath, disallowedIssuers: readonly string[]): CompiledMappings {
    this.#errors.push(...issuerErrors(provider.issuer ?? {}, at.child('issuer'), disallowedIssuers));
    const claimRules = this.#claimRules(provider.claimValidationRules ?? [], at.child('claimValidationRules'));
    const mappings = this.#mappings(provider.claimMappings ?? {}, at.child('claimMappings'));
    const userRules = this.#userRules(provider.userValidationRules ?? [], at.child('userValidationRules'));
    return { ...mappings, claimRules, userRules };
  }

  #claimRules(rules: readonly ClaimValidationRule[], at: FieldPath): readonly RuleExpression[] {
    const claims = new Set<string>();
    const expressions = new Set<string>();
    return rules.flatMap(({ claim = '', requiredValue = '', expression = '', message = '' }, i) => {
      const place = at.index(i);
      if (claim !== '' && expression !== '') {
        this.#errors.push(invalid(place, claim, "claim and expression can't both be set"));
      } else if (claim === '' && expression === '') {
        this.#errors.push(required(place, 'claim or expression is required'));
      } else if (claim !== '') {
        if (message !== '')
          this.#errors.push(invalid(place.child('message'), message, 'may not be specified when claim is set'));
        this.#distinct(claims, claim, place.child('claim'));
      } else {
        const value = place.child('requiredValue');
        if (requiredValue !== '')
          this.#errors.push(invalid(value, requiredValue, 'may not be specified when expression is set'));
        if (!this.#distinct(expressions, expression, place.child('expression'))) return [];
        const compiled = this.#ofClaims(expression, place.child('expression'), { mustBeBool: true });
        if (compiled) return [{ ...compiled, message }];
      }
      return [];
    });
  }

  #mappings(mappings: ClaimMappings, at: FieldPath): Omit<CompiledMappings, 'claimRules' | 'userRules'> {
    const { extra = [] } = mappings;
    const username = this.#prefixed(mappings.username ?? {}, at.child('username'), { needed: true });
    this.#usesEmail = username?.program.selects('claims', 'email') ?? false;
    const groups = this.#prefixed(mappings.groups ?? {}, at.child('groups'), { needed: false });
    const uid = this.#uid(mappings.uid ?? {}, at.child('uid'));
    const keys = new Set<string>();
    const values = extra.flatMap(({ key = '', valueExpression = '' }, i) => {
      const place = at.child('extra').index(i);
      this.#errors.push(...extraKeyErrors(place.child('key'), key));
      if (!this.#distinct(keys, key, place.child('key'))) return [];
      const value = place.child('valueExpression');
      if (valueExpression === '') {
        this.#errors.push(required(value));
        return [];
      }
      const compiled = this.#ofClaims(valueExpression, value);
      return compiled ? [{ ...compiled, key }] : [];
    });
    if (this.#usesEmail && !this.#usesEmailVerified) {
      const places =
        'claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression';
      const detail = `claims.email_verified must be used in ${places} when claims.email is used in claimMappings.username.expression`;
      this.#errors.push(invalid(at.child('username', 'expression'), mappings.username?.expression ?? '', detail));
    }
    return { username, groups, uid, extra: values };
  }

  #prefixed(
    { claim = '', expression = '', prefix }: PrefixedClaimOrExpression,
    at: FieldPath,
    { needed }: { readonly needed: boolean },
  ): ClaimExpression | undefined {
    if (claim !== '' && expression !== '') {
      this.#errors.push(invalid(at, '', "claim and expression can't both be set"));
    } else if (expression !== '') {
      if (prefix !== undefined)
        this.#errors.push(invalid(at.child('prefix'), prefix, 'may not be specified when expression is set'));
      return this.#ofClaims(expression, at.child('expression'));
    } else if (claim !== '') {
      const detail = 'prefix is required when claim is set. It can be set to an empty string to disable prefixing';
      if (prefix === undefined) this.#errors.push(required(at.child('prefix'), detail));
    } else if (needed) this.#errors.push(required(at, 'claim or expression is required'));
    return undefined;
  }

  #uid({ claim = '', expression = '' }: ClaimOrExpression, at: FieldPath): ClaimExpression | undefined {
    if (claim !== '' && expression !== '') this.#errors.push(invalid(at, '', "claim and expression can't both be set"));
    else if (expression !== '') return this.#ofClaims(expression, at.child('expression'), { countsForEmail: false });
    return undefined;
  }

  #userRules(rules: readonly UserValidationRule[], at: FieldPath): readonly RuleExpression[] {
    const seen = new Set<string>();
    return rules.flatMap(({ expression = '', message = '' }, i) => {
      const place = at.index(i).child('expression');
      if (expression === '') {
        this.#errors.push(required(place));
        return [];
      }
      if (!this.#distinct(seen, expression, place)) return [];
      const compiled = this.#judged(this.#expressions.ofUser(expression), expression, place);
      return compiled ? [{ ...compiled, message }] : [];
    });
  }

  #ofClaims(text: string, at: FieldPath, { mustBeBool = false, countsForEmail = true } = {}) {
    const compiled = this.#judged(this.#expressions.ofClaims(text, { mustBeBool }), text, at);
    if (countsForEmail && compiled?.program.selects('claims', 'email_verified')) this.#usesEmailVerified = true;
    return compiled;
  }

  #judged(result: ClaimExpression | string, text: string, at: FieldPath): ClaimExpression | undefined {
    if (typeof result !== 'string') return result;
    this.#errors.push(invalid(at, text, result));
    return undefined;
  }

  #distinct(seen: Set<string>, value: string, at: FieldPath): boolean {
    const isNew = !seen.has(value);
    if (!isNew) this.#errors.push(duplicate(at, value));
    seen.add(value);
    return isNew;
  }
}

function issuerErrors(issuer: IssuerConfiguration, at: FieldPath, disallowedIssuers: readonly string[]): FieldError[] {
  const { url = '', discoveryURL = '', certificateAuthority = '', egressSelectorType = '' } = issuer;
  const errors = url === '' ? [required(at.child('url'))] : urlErrors(at.child('url'), url, disallowedIssuers);
  if (discoveryURL !== '') {
    const place = at.child('discoveryURL');
    const trimmed = (text: string) => text.replace(/\/+$/, '');
    if (url !== '' && trimmed(url) === trimmed(discoveryURL))
      errors.push(invalid(place, discoveryURL, 'discoveryURL must be different from URL'));
    errors.push(...urlErrors(place, discoveryURL, []));
  }
  errors.push(...audienceErrors(issuer, at));
  if (certificateAuthority !== '' && !holdsCertificates(certificateAuthority)) {
    const detail = 'data does not contain any valid RSA or ECDSA certificates';
    errors.push(invalid(at.child('certificateAuthority'), '<omitted>', detail));
  }
  if (egressSelectorType !== '' && egressSelectorType !== 'controlplane' && egressSelectorType !== 'cluster') {
    const detail = 'egress selector must be either controlplane or cluster';
    errors.push(invalid(at.child('egressSelectorType'), egressSelectorType, detail));
  }
  return errors;
}

function urlErrors(at: FieldPath, text: string, disallowedIssuers: readonly string[]): FieldError[] {
  const errors: FieldError[] = [];
  if (disallowedIssuers.includes(text)) {
    const list = disallowedIssuers.toSorted().join(' ');
    errors.push(invalid(at, text, `URL must not overlap with disallowed issuers: [${list}]`));
  }
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  const url = URL.parse(text);
  if (!url && scheme === 'https') return [...errors, invalid(at, text, `parse ${JSON.stringify(text)}: invalid URL`)];
  if (scheme !== 'https') errors.push(invalid(at, text, 'URL scheme must be https'));
  if (!url) return errors;
  if (url.username !== '' || url.password !== '')
    errors.push(invalid(at, text, 'URL must not contain a username or password'));
  if (url.search !== '') errors.push(invalid(at, text, 'URL must not contain a query'));
  if (url.hash !== '') errors.push(invalid(at, text, 'URL must not contain a fragment'));
  return errors;
}

function audienceErrors(
  { audiences = [], audienceMatchPolicy = '' }: IssuerConfiguration,
  at: FieldPath,
): FieldError[] {
  const place = at.child('audiences');
  if (audiences.length === 0) return [required(place, `at least one ${place} is required`)];
  const errors = audiences.flatMap((audience, i) => [
    ...(audience === '' ? [required(place.index(i))] : []),
    ...(audiences.indexOf(audience) < i ? [duplicate(place.index(i), audience)] : []),
  ]);
  if (audienceMatchPolicy === 'MatchAny') return errors;
  const policy = at.child('audienceMatchPolicy');
  if (audiences.length > 1)
    errors.push(invalid(policy, audienceMatchPolicy, 'audienceMatchPolicy must be MatchAny for multiple audiences'));
  else if (audienceMatchPolicy !== '')
    errors.push(
      invalid(policy, audienceMatchPolicy, 'audienceMatchPolicy must be empty or MatchAny for single audience'),
    );
  return errors;
}

function extraKeyErrors(at: FieldPath, key: string): FieldError[] {
  const errors = [...validateDomainPrefixedPath(at, key)];
  if (key !== key.toLowerCase()) errors.push(invalid(at, key, 'must be lowercase'));
  const slash = key.indexOf('/');
  const domain = slash < 0 ? '' : key.slice(0, slash);
  const isReserved = ['kubernetes.io', 'k8s.io'].some((own) => domain === own || domain.endsWith(`.${own}`));
  const detail = 'k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use';
  return isReserved ? [...errors, invalid(at, key, detail)] : errors;
}

function holdsCertificates(pem: string): boolean {
  try {
    return parseCertificates(pem).length > 0;
  } catch {
    return false;
  }
}
