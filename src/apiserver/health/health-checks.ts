/**
 * `/healthz`, `/livez`, `/readyz`: named checks, each alone at `/readyz/NAME`, all of them listed with `?verbose` and whenever one
 * fails, some left out with `?exclude=NAME`. What went wrong is for the log; the page only says that it did.
 */
import { counterFamily, gaugeFamily } from '../../base/metrics/families.ts';
import { plainResponse, textResponse } from '../pages.ts';
import type { ApiResponse, Handler } from '../request.ts';

export type HealthEndpoint = 'healthz' | 'livez' | 'readyz';

export interface HealthCheck {
  readonly name: string;
  /** Where it counts; default: everywhere. */
  readonly in?: readonly HealthEndpoint[];
  /** Rejects when something is wrong. */
  check(): Promise<void>;
}

export interface HealthOptions {
  ready(): Promise<void>;
  readonly store: {
    healthy(): Promise<void>;
    ready(): Promise<void>;
    readonly further?: readonly HealthCheck[] | undefined;
  };
}

const endpoints: readonly HealthEndpoint[] = ['healthz', 'livez', 'readyz'];

/** How checks ended, for `/metrics`. */
export class HealthStatistics {
  readonly #checks = new Map<
    string,
    { readonly labels: { name: string; type: string }; well: number; ill: number; last: boolean }
  >();

  record(name: string, type: HealthEndpoint, well: boolean): void {
    const key = `${type} ${name}`;
    const check = this.#checks.get(key) ?? { labels: { name, type }, well: 0, ill: 0, last: well };
    this.#checks.set(key, check);
    check.last = well;
    if (well) check.well++;
    else check.ill++;
  }

  families(): readonly string[] {
    const checks = [...this.#checks.values()];
    const total = checks.flatMap(({ labels: { name, type }, well, ill }) =>
      [
        { labels: { name, status: 'success', type }, value: well },
        { labels: { name, status: 'error', type }, value: ill },
      ].filter(({ value }) => value > 0),
    );
    return [
      gaugeFamily(
        'kubernetes_healthcheck',
        'This metric records the result of a single healthcheck.',
        checks.map(({ labels, last }) => ({ labels, value: last ? 1 : 0 })),
      ),
      counterFamily('kubernetes_healthchecks_total', 'This metric records the results of all healthcheck.', total),
    ];
  }
}

export class HealthChecks {
  readonly statistics = new HealthStatistics();
  readonly #checks: HealthCheck[];

  constructor({ ready, store }: HealthOptions) {
    const well = async () => {};
    this.#checks = [
      { name: 'ping', check: well },
      { name: 'log', check: well },
      { name: 'etcd', check: () => store.healthy() },
      { name: 'etcd-readiness', in: ['readyz'], check: () => store.ready() },
      ...(store.further ?? []),
      { name: 'informer-sync', in: ['readyz'], check: ready },
    ];
  }

  add(check: HealthCheck): void {
    this.#checks.push(check);
  }

  /** Where checks can be asked, together and one by one. */
  paths(): string[] {
    return endpoints.flatMap((endpoint) => {
      const checks = this.#checks.filter((check) => !check.in || check.in.includes(endpoint));
      return [`/${endpoint}`, ...checks.map(({ name }) => `/${endpoint}/${name}`)];
    });
  }

  /** Who answers at a path without trailing slash; undefined when it is none of the endpoints. */
  handler(path: string): Handler | undefined {
    const endpoint = endpoints.find((name) => path === `/${name}` || path.startsWith(`/${name}/`));
    if (!endpoint) return undefined;
    const name = path.slice(endpoint.length + 2);
    const checks = this.#checks.filter((check) => !check.in || check.in.includes(endpoint));
    if (name === '') return path.endsWith('/') ? undefined : async ({ query }) => this.#allOf(endpoint, checks, query);
    const single = checks.find((check) => check.name === name);
    return single && (async () => this.#one(endpoint, single));
  }

  async #one(endpoint: HealthEndpoint, check: HealthCheck): Promise<ApiResponse> {
    return (await this.#succeeds(endpoint, check))
      ? plainResponse('ok')
      : textResponse(500, 'internal server error: reason withheld\n');
  }

  async #allOf(endpoint: HealthEndpoint, checks: readonly HealthCheck[], query: URLSearchParams): Promise<ApiResponse> {
    const excluded = new Set(query.getAll('exclude'));
    let failed = false;
    let lines = '';
    for (const check of checks) {
      const { name } = check;
      if (excluded.delete(name)) lines += `[+]${name} excluded: ok\n`;
      else if (await this.#succeeds(endpoint, check)) lines += `[+]${name} ok\n`;
      else {
        failed = true;
        lines += `[-]${name} failed: reason withheld\n`;
      }
    }
    if (excluded.size > 0) {
      const names = [...excluded].map((name) => JSON.stringify(name)).join(',');
      lines += `warn: some health checks cannot be excluded: no matches for ${names}\n`;
    }
    if (failed) return textResponse(500, `${lines}${endpoint} check failed\n`);
    return query.has('verbose') ? textResponse(200, `${lines}${endpoint} check passed\n`) : textResponse(200, 'ok');
  }

  async #succeeds(endpoint: HealthEndpoint, { name, check }: HealthCheck): Promise<boolean> {
    let well = false;
    try {
      await check();
      well = true;
    } catch {
      // What went wrong is in the log of whoever was asked.
    }
    this.statistics.record(name, endpoint, well);
    return well;
  }
}
