import assert from 'node:assert/strict';
import { it } from 'node:test';
import { errorText } from '../../../apimachinery/field-error.ts';
import type { AuthenticationConfiguration, JwtConfiguration } from './configuration.ts';
import { validateAuthenticationConfiguration } from './validation.ts';

const good: JwtConfiguration = {
  issuer: { url: 'https://issuer.example', audiences: ['a'] },
  claimMappings: { username: { claim: 'sub', prefix: '' } },
};

const errorsOf = (configuration: AuthenticationConfiguration, ...disallowed: string[]) =>
  validateAuthenticationConfiguration(configuration, disallowed).errors.map(errorText);

const cases: readonly {
  readonly name: string;
  readonly jwt: readonly JwtConfiguration[];
  readonly errors: readonly string[];
}[] = [
  { name: 'a good provider', jwt: [good], errors: [] },
  { name: 'no provider', jwt: [], errors: [] },
  {
    name: 'an empty one',
    jwt: [{}],
    errors: [
      'jwt[0].issuer.url: Required value',
      'jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required',
      'jwt[0].claimMappings.username: Required value: claim or expression is required',
    ],
  },
  {
    name: 'a URL without TLS, with user and query',
    jwt: [{ ...good, issuer: { url: 'http://u:p@issuer.example/?q#f', audiences: ['a'] } }],
    errors: [
      'jwt[0].issuer.url: Invalid value: "http://u:p@issuer.example/?q#f": URL scheme must be https',
      'jwt[0].issuer.url: Invalid value: "http://u:p@issuer.example/?q#f": URL must not contain a username or password',
      'jwt[0].issuer.url: Invalid value: "http://u:p@issuer.example/?q#f": URL must not contain a query',
      'jwt[0].issuer.url: Invalid value: "http://u:p@issuer.example/?q#f": URL must not contain a fragment',
    ],
  },
  {
    name: 'the issuer of service account tokens',
    jwt: [{ ...good, issuer: { url: 'https://own.example', audiences: ['a', 'a'], egressSelectorType: 'x' } }],
    errors: [
      'jwt[0].issuer.url: Invalid value: "https://own.example": URL must not overlap with disallowed issuers: [https://own.example]',
      'jwt[0].issuer.audiences[1]: Duplicate value: "a"',
      'jwt[0].issuer.audienceMatchPolicy: Invalid value: "": audienceMatchPolicy must be MatchAny for multiple audiences',
      'jwt[0].issuer.egressSelectorType: Invalid value: "x": egress selector must be either controlplane or cluster',
    ],
  },
  {
    name: 'two of one issuer',
    jwt: [good, good],
    errors: ['jwt[1].issuer.url: Duplicate value: "https://issuer.example"'],
  },
  {
    name: 'claims and expressions at once',
    jwt: [
      {
        ...good,
        claimMappings: {
          username: { claim: 'sub', expression: 'claims.sub' },
          groups: { claim: 'g' },
          uid: { claim: 'u', expression: 'claims.u' },
          extra: [
            { key: 'Team', valueExpression: 'claims.' },
            { key: 'apps.k8s.io/x', valueExpression: 'claims.x' },
          ],
        },
      },
    ],
    errors: [
      'jwt[0].claimMappings.username: Invalid value: "": claim and expression can\'t both be set',
      'jwt[0].claimMappings.groups.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing',
      'jwt[0].claimMappings.uid: Invalid value: "": claim and expression can\'t both be set',
      'jwt[0].claimMappings.extra[0].key: Invalid value: "Team": must be a domain-prefixed path (such as "acme.io/foo")',
      'jwt[0].claimMappings.extra[0].key: Invalid value: "Team": must be lowercase',
      'jwt[0].claimMappings.extra[0].valueExpression: Invalid value: "claims.": compilation failed: ERROR: <input>:1:8: Syntax error: no viable alternative at input \'.\'\n | claims.\n | .......^',
      'jwt[0].claimMappings.extra[1].key: Invalid value: "apps.k8s.io/x": k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use',
    ],
  },
  {
    name: 'an address that nobody has verified as a name',
    jwt: [{ ...good, claimMappings: { username: { expression: 'claims.email' } } }],
    errors: [
      'jwt[0].claimMappings.username.expression: Invalid value: "claims.email": claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression',
    ],
  },
  {
    name: 'an address verified by a rule',
    jwt: [
      {
        ...good,
        claimMappings: { username: { expression: 'claims.email' } },
        claimValidationRules: [{ expression: 'claims.?email_verified.orValue(true) == true' }],
      },
    ],
    errors: [],
  },
  {
    name: 'rules that are none',
    jwt: [
      {
        ...good,
        claimValidationRules: [{}, { claim: 'a', message: 'm' }, { claim: 'a' }, { expression: 'claims.a' }],
        userValidationRules: [{}, { expression: 'user.nobody == 1' }],
      },
    ],
    errors: [
      'jwt[0].claimValidationRules[0]: Required value: claim or expression is required',
      'jwt[0].claimValidationRules[1].message: Invalid value: "m": may not be specified when claim is set',
      'jwt[0].claimValidationRules[2].claim: Duplicate value: "a"',
      'jwt[0].claimValidationRules[3].expression: Invalid value: "claims.a": must evaluate to bool',
      'jwt[0].userValidationRules[0].expression: Required value',
      'jwt[0].userValidationRules[1].expression: Invalid value: "user.nobody == 1": compilation failed: ERROR: <input>:1:5: undefined field \'nobody\'\n | user.nobody == 1\n | ....^',
    ],
  },
];

for (const { name, jwt, errors } of cases) {
  it(`an authentication configuration with ${name}`, () => {
    assert.deepEqual(errorsOf({ jwt }, 'https://own.example'), errors);
  });
}

it('an authentication configuration that shuts out nobody under conditions', () => {
  assert.deepEqual(errorsOf({ anonymous: { enabled: false, conditions: [{ path: '/livez' }] } }).length, 1);
  assert.deepEqual(errorsOf({ anonymous: { enabled: true, conditions: [{ path: '/livez' }] } }), []);
});
