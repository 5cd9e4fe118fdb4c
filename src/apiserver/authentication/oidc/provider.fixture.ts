/** An identity provider for tests: real HTTPS on loopback, keys that can be changed, and answers that can be spoiled. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { exportJWK, SignJWT } from 'jose';
import { startWebhookServer } from '../../webhook-client/webhook-server.fixture.ts';

export interface TestKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export function testKey(kid: string, alg = 'ES256'): TestKey {
  const curve = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }[alg];
  const pair = curve
    ? generateKeyPairSync('ec', { namedCurve: curve })
    : generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { kid, alg, ...pair };
}

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export interface TestProvider extends AsyncDisposable {
  readonly issuer: string;
  /** PEM. */
  readonly ca: string;
  /** What it says it signs with. */
  keys: readonly TestKey[];
  cacheControl: string | undefined;
  /** Paths that are answered otherwise. */
  readonly spoiled: Map<string, Answer>;
  /** How often each path was asked for. */
  readonly asked: Map<string, number>;
  sign(claims: Record<string, unknown>, options?: { readonly key?: TestKey; readonly kid?: string }): Promise<string>;
}

export const discoveryPath = '/.well-known/openid-configuration';
export const keysPath = '/keys';

/** Tokens are of the issuer, for `cluster`, and hold until the year 2100, unless their claims say otherwise. */
export async function startProvider(...keys: TestKey[]): Promise<TestProvider> {
  const asked = new Map<string, number>();
  const spoiled = new Map<string, Answer>();
  const json = (response: ServerResponse, value: unknown, headers: Record<string, string> = {}) =>
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
  const listener = async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? '';
    asked.set(path, (asked.get(path) ?? 0) + 1);
    const other = spoiled.get(path);
    if (other) return other(request, response);
    if (path === discoveryPath)
      return json(response, { issuer: provider.issuer, jwks_uri: `${provider.issuer}${keysPath}` });
    if (path !== keysPath) return response.writeHead(404).end();
    const published = provider.keys.map(async ({ kid, alg, publicKey }) => ({
      ...(await exportJWK(publicKey)),
      kid,
      alg,
      use: 'sig',
    }));
    const { cacheControl } = provider;
    return json(
      response,
      { keys: await Promise.all(published) },
      cacheControl ? { 'cache-control': cacheControl } : {},
    );
  };
  const server = await startWebhookServer(() => ({}), { listener });
  const provider: TestProvider = {
    issuer: server.url,
    ca: Buffer.from(server.caBundle, 'base64').toString(),
    keys,
    cacheControl: undefined,
    spoiled,
    asked,
    sign: (claims, { key = keys[0]!, kid = key.kid } = {}) =>
      new SignJWT({ iss: server.url, aud: 'cluster', exp: 4_102_444_800, ...claims })
        .setProtectedHeader({ alg: key.alg, ...(kid === '' ? {} : { kid }) })
        .sign(key.privateKey),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
  return provider;
}
