/** What is counted about who asks and what they may, for `/metrics`. Names, labels and limits are upstream's. */
import { counterFamily, gaugeFamily, histogramFamily, type Labels } from '../../base/metrics/families.ts';
import { Counts, defaultLimits, exponentialLimits, Timings } from '../../base/metrics/series.ts';

const fromOneMillisecond = exponentialLimits(0.001, { factor: 2, count: 15 });
const matchConditionLimits: readonly number[] = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];
const tokenLimits: readonly number[] = [0.001, ...defaultLimits];

export type ConfigurationFile = 'authentication' | 'authorization';

export class IdentityStatistics {
  readonly users = new Counts();
  readonly authentication = new Timings(fromOneMillisecond);
  readonly authorization = new Timings(fromOneMillisecond);
  readonly impersonation = { attempts: new Timings(fromOneMillisecond), checks: new Timings(fromOneMillisecond) };
  readonly tokenCache = { requests: new Timings(defaultLimits), fetches: new Counts(), active: new Counts() };
  readonly serviceAccountTokens = new Counts();
  readonly jwt = { latency: new Timings(tokenLimits), keySetFetched: new Counts(), keySets: new Counts() };
  readonly decisions = new Counts();
  readonly webhooks = { evaluations: new Timings(defaultLimits), failedOpen: new Counts() };
  readonly matchConditions = {
    evaluations: new Timings(matchConditionLimits),
    errors: new Counts(),
    exclusions: new Counts(),
  };
  readonly #reloads = { authentication: new Reloads(), authorization: new Reloads() };

  /** A configuration file was read; `hash` of its content where it was taken. */
  reloaded(file: ConfigurationFile, result: { readonly hash?: string | undefined; readonly atMs: number }): void {
    this.#reloads[file].told(result);
  }

  /** A configuration file was read at the start. */
  loaded(file: ConfigurationFile, hash: string): void {
    this.#reloads[file].hash = hash;
  }

  families(): readonly string[] {
    return [
      ...this.#requestFamilies(),
      ...this.#impersonationFamilies(),
      ...this.#tokenFamilies(),
      ...this.#authorizerFamilies(),
      ...this.#reloads.authentication.families('authentication'),
      ...this.#reloads.authorization.families('authorization'),
    ];
  }

  #requestFamilies(): readonly string[] {
    const { users, authentication, authorization } = this;
    return [
      counterFamily(
        'authenticated_user_requests',
        'Counter of authenticated requests broken out by username.',
        users.samples(),
      ),
      ...timingFamilies(authentication, {
        counter: ['authentication_attempts', 'Counter of authenticated attempts.'],
        histogram: ['authentication_duration_seconds', 'Authentication duration in seconds broken out by result.'],
      }),
      ...timingFamilies(authorization, {
        counter: [
          'authorization_attempts_total',
          "Counter of authorization attempts broken down by result. It can be either 'allowed', 'denied', 'no-opinion' or 'error'.",
        ],
        histogram: ['authorization_duration_seconds', 'Authorization duration in seconds broken out by result.'],
      }),
    ];
  }

  #impersonationFamilies(): readonly string[] {
    const { attempts, checks } = this.impersonation;
    const checked = 'authorization checks made by the impersonation handler';
    return [
      ...timingFamilies(attempts, {
        counter: [
          'apiserver_impersonation_attempts_total',
          'Total number of impersonation attempts split by mode and decision.',
        ],
        histogram: [
          'apiserver_impersonation_attempts_duration_seconds',
          'Latency of impersonation attempts in seconds split by mode and decision.',
        ],
      }),
      ...timingFamilies(checks, {
        counter: [
          'apiserver_impersonation_authorization_attempts_total',
          `Total number of ${checked} split by mode and decision.`,
        ],
        histogram: [
          'apiserver_impersonation_authorization_attempts_duration_seconds',
          `Latency of ${checked} in seconds split by mode and decision.`,
        ],
      }),
    ];
  }

  #tokenFamilies(): readonly string[] {
    const { tokenCache, serviceAccountTokens, jwt } = this;
    const jwks = 'apiserver_authentication_jwt_authenticator_jwks_fetch_last';
    return [
      ...timingFamilies(tokenCache.requests, {
        counter: ['authentication_token_cache_request_total', ''],
        histogram: ['authentication_token_cache_request_duration_seconds', ''],
      }),
      counterFamily('authentication_token_cache_fetch_total', '', tokenCache.fetches.samples()),
      gaugeFamily('authentication_token_cache_active_fetch_count', '', tokenCache.active.samples()),
      ...[...serviceAccountTokens.samples()].map(({ labels: { name = '' }, value }) =>
        counterFamily(`serviceaccount_${name}_total`, serviceAccountHelp[name] ?? '', [{ labels: {}, value }]),
      ),
      histogramFamily(
        'apiserver_authentication_jwt_authenticator_latency_seconds',
        'Latency of jwt authentication operations in seconds. This is the time spent authenticating a token for cache miss only (i.e. when the token is not found in the cache).',
        jwt.latency.histogram(),
      ),
      gaugeFamily(
        `${jwks}_timestamp_seconds`,
        'Timestamp of the last successful or failed JWKS fetch split by result, api server identity and jwt issuer for the JWT authenticator.',
        jwt.keySetFetched.samples(),
      ),
      gaugeFamily(
        `${jwks}_key_set_info`,
        'Information about the last JWKS fetched by the JWT authenticator with hash as label, split by api server identity and jwt issuer.',
        jwt.keySets.samples(),
      ),
    ];
  }

  #authorizerFamilies(): readonly string[] {
    const { decisions, webhooks, matchConditions } = this;
    return [
      counterFamily(
        'apiserver_authorization_decisions_total',
        'Total number of terminal decisions made by an authorizer split by authorizer type, name, and decision.',
        decisions.samples(),
      ),
      ...timingFamilies(webhooks.evaluations, {
        counter: ['apiserver_authorization_webhook_evaluations_total', 'Round-trips to authorization webhooks.'],
        histogram: ['apiserver_authorization_webhook_duration_seconds', 'Request latency in seconds.'],
      }),
      counterFamily(
        'apiserver_authorization_webhook_evaluations_fail_open_total',
        'NoOpinion results due to webhook timeout or error.',
        webhooks.failedOpen.samples(),
      ),
      counterFamily(
        'apiserver_authorization_match_condition_evaluation_errors_total',
        'Total number of errors when an authorization webhook encounters a match condition error split by authorizer type and name.',
        matchConditions.errors.samples(),
      ),
      counterFamily(
        'apiserver_authorization_match_condition_exclusions_total',
        'Total number of exclusions when an authorization webhook is skipped because match conditions exclude it.',
        matchConditions.exclusions.samples(),
      ),
      histogramFamily(
        'apiserver_authorization_match_condition_evaluation_seconds',
        'Authorization match condition evaluation time in seconds, split by authorizer type and name.',
        matchConditions.evaluations.histogram(),
      ),
    ];
  }
}

/** By the part of the name that differs. */
const serviceAccountHelp: Readonly<Record<string, string>> = {
  stale_tokens: 'Cumulative stale projected service account tokens used',
  valid_tokens: 'Cumulative valid projected service account tokens used',
  legacy_auto_token_uses: 'Cumulative auto-generated legacy tokens used',
  legacy_manual_token_uses: 'Cumulative manually created legacy tokens used',
  invalid_legacy_auto_token_uses: 'Cumulative invalid auto-generated legacy tokens used',
};

/** How often a configuration file was taken or refused after the start. */
class Reloads {
  readonly #counts = new Counts();
  readonly #times = new Counts();
  hash = '';

  told({ hash, atMs }: { readonly hash?: string | undefined; readonly atMs: number }): void {
    const labels = { status: hash === undefined ? 'failure' : 'success' };
    this.#counts.add(labels);
    this.#times.set(labels, atMs / 1000);
    if (hash !== undefined) this.hash = hash;
  }

  /** None for a server without such a file. */
  families(file: ConfigurationFile): readonly string[] {
    if (this.hash === '') return [];
    const prefix = `apiserver_${file}_config_controller`;
    const split = 'split by status and apiserver identity.';
    return [
      counterFamily(
        `${prefix}_automatic_reloads_total`,
        `Total number of automatic reloads of ${file} configuration ${split}`,
        this.#counts.samples(),
      ),
      gaugeFamily(
        `${prefix}_automatic_reload_last_timestamp_seconds`,
        `Timestamp of the last automatic reload of ${file} configuration ${split}`,
        this.#times.samples(),
      ),
      gaugeFamily(
        `${prefix}_last_config_info`,
        `Information about the last applied ${file} configuration with hash as label, split by apiserver identity.`,
        [{ labels: { hash: this.hash } satisfies Labels, value: 1 }],
      ),
    ];
  }
}

type NameAndHelp = readonly [name: string, help: string];

function timingFamilies(
  timings: Timings,
  { counter, histogram }: { readonly counter: NameAndHelp; readonly histogram: NameAndHelp },
): readonly string[] {
  return [counterFamily(...counter, timings.counts()), histogramFamily(...histogram, timings.histogram())];
}
