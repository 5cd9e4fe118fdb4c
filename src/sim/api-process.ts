/**
 * The API server of a simulation: the unmodified one, without sockets, over a store in memory that outlives it. It can end at any moment, between
 * any two of its writes, and be started again.
 */
import type { KubeObject } from '../apimachinery/meta.ts';
import type { ApiRequest, ApiResponse } from '../apiserver/request.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { ConnectionError } from '../client/connection-error.ts';
import {
  type ComposedApiServer,
  type ComposedApiServerOptions,
  startApiServer,
} from '../cluster/control-plane/api-server.ts';
import { type CertificateAuthority, createCertificateAuthority } from '../pki/authority.ts';
import { legacyIssuer, sharedSecretSigner, type TokenSigner } from '../pki/token-signer.ts';
import type { Store } from '../storage/store.ts';
import { chanceOf, seededKeys } from './chance.ts';
import { MortalStore } from './mortal-store.ts';

export interface ApiProcessOptions {
  readonly seed: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Store<KubeObject>;
  readonly settings: Partial<ComposedApiServerOptions>;
  /** All connections have ended. */
  onEnd(): void;
}

interface Life {
  readonly store: MortalStore<KubeObject>;
  /** Undefined until it answers. */
  server: ComposedApiServer | undefined;
  readonly handle: (request: ApiRequest) => Promise<ApiResponse>;
}

const issuer = 'https://kubernetes.default.svc.cluster.local';

export class ApiProcess {
  readonly authority: CertificateAuthority;
  readonly tokens: TokenSigner;
  /** Of Secrets. */
  readonly legacyTokens: TokenSigner;
  readonly #options: ApiProcessOptions;
  #lives = 0;
  #life: Life | undefined;

  constructor(options: ApiProcessOptions) {
    this.#options = options;
    const { clock, seed } = options;
    const random = chanceOf(seed, 'authority');
    this.authority = createCertificateAuthority(
      { commonName: 'kubernetes' },
      { clock, random, keys: seededKeys(random) },
    );
    const secret = random.bytes(32);
    this.tokens = sharedSecretSigner({ clock, issuers: [issuer, legacyIssuer], secret });
    this.legacyTokens = sharedSecretSigner({ clock, issuers: [legacyIssuer], secret });
  }

  /** How it is called while it is up. */
  get handler(): ((request: ApiRequest) => Promise<ApiResponse>) | undefined {
    const life = this.#life;
    return life?.server ? life.handle : undefined;
  }

  get isUp(): boolean {
    return this.#life?.server !== undefined;
  }

  /** Resolves when it answers. */
  async start(): Promise<void> {
    const { seed, clock, log, store, settings } = this.#options;
    const life: Life = {
      store: new MortalStore(store),
      server: undefined,
      handle: async (request) => {
        const response = await life.server!.server.handle(request);
        if (life !== this.#life) throw new ConnectionError('read ECONNRESET', { code: 'ECONNRESET', neverSent: false });
        return response;
      },
    };
    this.#life = life;
    const { certificatePem, keyPem } = this.authority;
    const server = await startApiServer({
      ...settings,
      store: { kind: 'objects', store: life.store },
      clock,
      random: chanceOf(seed, `kube-apiserver#${this.#lives++}`),
      log: log.child({ component: 'kube-apiserver' }),
      trust: {
        clientCaPem: certificatePem,
        serving: { certificatePem, keyPem },
        tokens: this.tokens,
        issuers: [issuer],
      },
      listen: [],
      serviceCidrs: ['10.96.0.0/16'],
      shutdown: { drainMs: 0, ...settings.shutdown },
    });
    life.server = server;
    if (life !== this.#life) void server.close();
  }

  /** Without a word to anybody. What it had written stays written. */
  crash(): void {
    const life = this.#life;
    this.#life = undefined;
    void life?.store.close();
    void life?.server?.close();
    this.#options.onEnd();
  }
}
