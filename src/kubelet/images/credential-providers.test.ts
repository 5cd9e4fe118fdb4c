/** Programs that give credentials: who is asked for what, how long answers are kept, and what a wrong answer does. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Pod, serviceAccounts } from '../../api/gen/core-v1.ts';
import { errorText } from '../../apimachinery/field-error.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { kubeletHarness, testPod } from '../kubelet.fixture.ts';
import { ServiceAccountTokens } from '../volumes/service-account-tokens.ts';
import { type CredentialProvider, credentialProviderErrors } from './credential-provider-settings.ts';
import { CredentialProviders } from './credential-providers.ts';

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';

const provider = (settings: Partial<CredentialProvider> = {}): CredentialProvider => ({
  name: 'helper',
  matchImages: ['*.registry.test'],
  defaultCacheMs: 60_000,
  apiVersion,
  args: [],
  environment: {},
  ...settings,
});

const tokens = {
  audience: 'registry',
  cacheType: 'ServiceAccount',
  requireServiceAccount: true,
  requiredAnnotationKeys: [],
  optionalAnnotationKeys: [],
} as const;

interface Request {
  readonly image: string;
  readonly serviceAccountToken?: string;
  readonly serviceAccountAnnotations?: Readonly<Record<string, string>>;
}

/** Providers of which each answers the number of the question as its password. */
function setUp(
  providers: readonly CredentialProvider[],
  answer: (request: Request) => object | string = () => ({ cacheKeyType: 'Image' }),
) {
  const clock = new FakeClock();
  const { client, lines, log, random } = kubeletHarness(clock);
  const asked: Request[] = [];
  const accountTokens = new ServiceAccountTokens({ client, clock, random, log, signal: new AbortController().signal });
  const lookups = new CredentialProviders({
    providers,
    client,
    clock,
    log,
    tokens: accountTokens,
    run: async (_provider, input) => {
      const request = JSON.parse(input) as Request;
      asked.push(request);
      const own = answer(request);
      if (typeof own === 'string') return own;
      const registry = request.image.split('/')[0]!;
      const auth = { [registry]: { username: 'robot', password: `${asked.length}` } };
      return JSON.stringify({ kind: 'CredentialProviderResponse', apiVersion, auth, ...own });
    },
  });
  const passwords = async (image: string, pod: Pod = testPod('p', 'n', { containers: [] })) =>
    (await lookups.lookup(image, pod)).map(({ credentials }) => credentials.password);
  return { clock, client, asked, lines, lookups, passwords };
}

const problems = (lines: readonly { readonly level: string; readonly fields: unknown }[]) =>
  lines.filter(({ level }) => level === 'error').map(({ fields }) => (fields as { error: string }).error);

describe('a credential provider', () => {
  it('is asked about images that it is named for, by their repository', async () => {
    const { asked, passwords } = setUp([provider()]);
    assert.deepEqual(await passwords('a.registry.test/team/app:1@sha256:0'), ['1']);
    assert.deepEqual(await passwords('registry.test/app'), []);
    assert.deepEqual(asked, [
      { kind: 'CredentialProviderRequest', apiVersion, image: 'a.registry.test/team/app' } as Request,
    ]);
  });

  for (const { cacheKeyType, expected } of [
    { cacheKeyType: 'Image', expected: ['1', '1', '2', '3'] },
    { cacheKeyType: 'Registry', expected: ['1', '1', '1', '2'] },
  ]) {
    it(`is asked again only where an answer for the ${cacheKeyType} does not tell already`, async () => {
      const { passwords } = setUp([provider()], () => ({ cacheKeyType }));
      const given = [];
      for (const image of ['a.registry.test/x:1', 'a.registry.test/x:2', 'a.registry.test/y', 'b.registry.test/x'])
        given.push(...(await passwords(image)));
      assert.deepEqual(given, expected);
    });
  }

  it('is asked once for all where its answer is Global', async () => {
    const auth = { '*.registry.test': { username: 'robot', password: 'all' } };
    const { asked, passwords } = setUp([provider()], () => ({ cacheKeyType: 'Global', auth }));
    assert.deepEqual(await passwords('a.registry.test/x'), ['all']);
    assert.deepEqual(await passwords('b.registry.test/y'), ['all']);
    assert.equal(asked.length, 1);
  });

  it('is asked again after the time that it, or else its settings, name', async () => {
    for (const { cacheDuration, keptMs } of [
      { cacheDuration: '5s', keptMs: 5000 },
      { cacheDuration: undefined, keptMs: 60_000 },
      { cacheDuration: '0s', keptMs: 0 },
    ]) {
      const { clock, passwords } = setUp([provider()], () => ({ cacheKeyType: 'Image', cacheDuration }));
      await passwords('a.registry.test/x');
      await clock.advance(keptMs);
      assert.deepEqual(await passwords('a.registry.test/x'), [keptMs === 0 ? '2' : '1'], cacheDuration);
      await clock.advance(1);
      assert.deepEqual(await passwords('a.registry.test/x'), [keptMs === 0 ? '3' : '2'], cacheDuration);
    }
  });

  it('is asked once by all who want the same at a time', async () => {
    const { asked, passwords } = setUp([provider()]);
    await Promise.all([passwords('a.registry.test/x'), passwords('a.registry.test/x')]);
    assert.equal(asked.length, 1);
  });

  it('that fails gives nothing, and others still do', async () => {
    const answers: Readonly<Record<string, object | string>> = {
      'nonsense.registry.test': 'no JSON',
      'version.registry.test': { apiVersion: 'credentialprovider.kubelet.k8s.io/v1beta1' },
      'kind.registry.test': { kind: 'Secret' },
      'key.registry.test': { cacheKeyType: 'Planet' },
      'entry.registry.test': { cacheKeyType: 'Image', auth: { x: { password: 7 } } },
    };
    const { lines, passwords } = setUp(
      [provider(), provider({ name: 'second', matchImages: ['good.registry.test'] })],
      ({ image }) => answers[image.split('/')[0]!] ?? { cacheKeyType: 'Image' },
    );
    for (const registry of Object.keys(answers)) assert.deepEqual(await passwords(`${registry}/x`), [], registry);
    assert.deepEqual(await passwords('good.registry.test/x'), ['6', '7']);
    const failed = 'failed to get credential from external registry credential provider: ';
    assert.deepEqual(problems(lines), [
      `${failed}error reading GVK from response: it is no JSON object`,
      `${failed}apiVersion from credential plugin response did not match expected apiVersion:${apiVersion}, actual apiVersion:credentialprovider.kubelet.k8s.io/v1beta1`,
      `${failed}error decoding credential provider plugin response from stdout`,
      'credential provider plugin did not return a valid cacheKeyType: Planet',
      `${failed}error decoding credential provider plugin response from stdout`,
    ]);
  });
});

describe('a credential provider of service accounts', () => {
  const podOf = (serviceAccountName?: string) =>
    testPod('p', 'n', { containers: [], serviceAccountName }, { uid: 'u' });
  const withAccount = async (
    settings: Partial<NonNullable<CredentialProvider['tokens']>>,
    annotations: Readonly<Record<string, string>> = {},
    answer?: (request: Request) => object,
  ) => {
    const test = setUp([provider({ tokens: { ...tokens, ...settings } })], answer);
    await test.client.create(serviceAccounts, { metadata: { name: 'robot', namespace: 'default', annotations } });
    return test;
  };

  it('is given a token and the annotations that it asked for; what comes is the account’s', async () => {
    const keys = { requiredAnnotationKeys: ['team'], optionalAnnotationKeys: ['floor', 'room'] };
    const { asked, lookups } = await withAccount(keys, { team: 'blue', room: '7', other: 'x' });
    const [found] = await lookups.lookup('a.registry.test/x', podOf('robot'));
    assert.equal(asked[0]?.serviceAccountToken, 'token-1');
    assert.deepEqual(asked[0]?.serviceAccountAnnotations, { team: 'blue', room: '7' });
    assert.equal(found?.source?.kind, 'serviceAccount');
    assert.equal(found?.source?.name, 'robot');
  });

  it('is not asked where the Pod has no account, or the account not the annotation', async () => {
    const { asked, lines, passwords } = await withAccount({ requiredAnnotationKeys: ['team'] });
    assert.deepEqual(await passwords('a.registry.test/x', podOf()), []);
    assert.deepEqual(await passwords('a.registry.test/x', podOf('robot')), []);
    assert.deepEqual([asked, problems(lines)], [[], []]);
  });

  it('may be asked without an account where it says so', async () => {
    const { asked, passwords } = await withAccount({ requireServiceAccount: false });
    assert.deepEqual(await passwords('a.registry.test/x', podOf()), ['1']);
    assert.equal(asked[0]?.serviceAccountToken, undefined);
  });

  it('says that an account is not there', async () => {
    const { lines, passwords } = await withAccount({});
    assert.deepEqual(await passwords('a.registry.test/x', podOf('nobody')), []);
    assert.deepEqual(problems(lines), ['failed to get service account: serviceaccounts "nobody" not found']);
  });

  it('has its answers kept per account, or per token', async () => {
    for (const { cacheType, expected } of [
      { cacheType: 'ServiceAccount', expected: '1' },
      { cacheType: 'Token', expected: '2' },
    ] as const) {
      const { passwords } = await withAccount({ cacheType });
      assert.deepEqual(await passwords('a.registry.test/x', podOf('robot')), ['1']);
      const other = testPod('q', 'n', { containers: [], serviceAccountName: 'robot' }, { uid: 'v' });
      assert.deepEqual(await passwords('a.registry.test/x', other), [expected], cacheType);
    }
  });

  it('may give the token itself only where answers are kept no longer than it', async () => {
    const echo = ({ serviceAccountToken }: Request) => ({
      cacheKeyType: 'Image',
      auth: { 'a.registry.test': { username: 'token', password: serviceAccountToken } },
    });
    const careless = await withAccount({}, {}, echo);
    assert.deepEqual(await careless.passwords('a.registry.test/x', podOf('robot')), []);
    assert.match(
      problems(careless.lines)[0] ?? '',
      /returned the service account token as the password which is not allowed/,
    );
    const careful = await withAccount({ cacheType: 'Token' }, {}, echo);
    assert.deepEqual(await careful.passwords('a.registry.test/x', podOf('robot')), ['token-1']);
  });
});

it('tells all that is wrong with its settings at once', () => {
  const good = { name: 'a', apiVersion, matchImages: ['x.test'], defaultCacheDuration: '1m' };
  const errors = (...providers: Parameters<typeof credentialProviderErrors>[0]) =>
    credentialProviderErrors(providers, { tokensAllowed: true }).map(errorText);
  assert.deepEqual(errors(good), []);
  assert.deepEqual(errors(), ['providers: Required value: at least 1 item in plugins is required']);
  assert.deepEqual(
    errors(good, { ...good, name: '../b c', apiVersion: 'v9', matchImages: [], defaultCacheDuration: '-1s' }, good),
    [
      `providers.name: Invalid value: "../b c": provider name cannot contain '/'`,
      'providers.name: Invalid value: "../b c": provider name cannot contain spaces',
      'providers.apiVersion: Unsupported value: "v9": supported values: "credentialprovider.kubelet.k8s.io/v1", "credentialprovider.kubelet.k8s.io/v1alpha1", "credentialprovider.kubelet.k8s.io/v1beta1"',
      'providers.matchImages: Required value: at least 1 item in matchImages is required',
      'providers.defaultCacheDuration: Invalid value: "-1s": must be greater than or equal to 0',
      'providers.name: Duplicate value: "a"',
    ],
  );
  const tokenAttributes = { requiredServiceAccountAnnotationKeys: ['a b'], requireServiceAccount: false };
  assert.deepEqual(
    errors({ ...good, tokenAttributes }).map((text) => text.replace(/^providers.tokenAttributes/, '')),
    [
      '.serviceAccountTokenAudience: Required value',
      '.requiredServiceAccountAnnotationKeys: Forbidden: requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set',
      `.requiredServiceAccountAnnotationKeys: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
      '.cacheType: Required value: cacheType is required to be set when tokenAttributes is specified. Supported values are: ServiceAccount, Token',
    ],
  );
});
