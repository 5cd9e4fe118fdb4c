/**
 * How remote servers describe what they serve, for this server's own OpenAPI documents: asked for once their APIService is available, and again
 * every minute with the ETag of what is known. What a server does not tell is left out; what it told stays while it is away.
 */
import type { APIService } from '../../api/gen/apiregistration-v1.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { type Controller, createController } from '../../reconcile/controller.ts';
import { ownPart, type RemoteOpenApi } from '../openapi/joined-documents.ts';
import { encodeOpenApiV2 } from '../openapi/protobuf-v2.ts';
import type { Json } from '../openapi/schemas.ts';
import { askJson } from './remote-document.ts';
import type { RemoteEntry, RemoteRegistry } from './remote-registry.ts';

/** Of one APIService. */
interface Described {
  readonly v2?: Json | undefined;
  readonly v2ETag: string;
  /** Where version 3 is. */
  readonly v3?: string | undefined;
}

const refreshMs = 60_000;
const longestRetryMs = 3_600_000;
const timeoutMs = 60_000;
const asker = { name: 'system:aggregator', groups: [] };

export class RemoteDescriptions {
  readonly #context: ComponentContext;
  readonly #registry: RemoteRegistry;
  readonly #controller: Controller;
  /** By APIService. */
  readonly #known = new Map<string, Described>();
  readonly #failures = new Map<string, number>();
  #openApi: RemoteOpenApi = { v2: [], v3: {} };

  constructor(context: ComponentContext, registry: RemoteRegistry) {
    this.#context = context;
    this.#registry = registry;
    this.#controller = createController(context, {
      name: 'open_api_aggregation_controller',
      workers: 2,
      reconcile: (name) => this.#refresh(name),
    });
  }

  /** Another object after each change. */
  get openApi(): RemoteOpenApi {
    return this.#openApi;
  }

  /** Asks the servers of those that have become available. */
  update(services: readonly APIService[]): void {
    const names = new Set(services.map(({ metadata }) => metadata.name ?? ''));
    for (const name of this.#known.keys()) if (!names.has(name)) this.#controller.enqueue(name);
    for (const { name, available } of this.#registry.entries()) {
      if (available && !this.#known.has(name) && !this.#failures.has(name)) this.#controller.enqueue(name);
    }
  }

  /** Runs until the context's signal is aborted. */
  run(): Promise<void> {
    return this.#controller.run();
  }

  async #refresh(name: string) {
    const entry = this.#registry.named(name);
    if (!entry) {
      this.#failures.delete(name);
      if (this.#known.delete(name)) this.#publish();
      return undefined;
    }
    try {
      if (!entry.available) return { againAfterMs: refreshMs };
      const before = this.#known.get(name);
      const described = await this.#ask(entry, before);
      this.#failures.delete(name);
      this.#known.set(name, described);
      if (before?.v2 !== described.v2 || before?.v3 !== described.v3) this.#publish();
      return { againAfterMs: refreshMs };
    } catch (error) {
      const { signal, log } = this.#context;
      if (signal.aborted) return undefined;
      const failures = (this.#failures.get(name) ?? 0) + 1;
      this.#failures.set(name, failures);
      log.info('a remote API is not described', { name, error: messageOf(error) });
      return { againAfterMs: Math.min(refreshMs * 2 ** (failures - 1), longestRetryMs) };
    }
  }

  async #ask({ server, group, version }: RemoteEntry, before: Described | undefined): Promise<Described> {
    const { clock, signal } = this.#context;
    const asking = { server, user: asker, clock, signal, timeoutMs };
    const accept = 'application/json';
    const root = `apis/${group}/${version}`;
    const index = await askJson(asking, { path: '/openapi/v3', accept });
    const v3 = index.status === 200 ? linkIn(index.value, root) : undefined;
    const whole = await askJson(asking, { path: '/openapi/v2', accept, etag: before?.v2ETag });
    if (whole.status === 304 && before) return { ...before, v3 };
    if (whole.status === 404) return { v3, v2ETag: '' };
    if (whole.status !== 200) throw new Error(`failed to retrieve openAPI spec, http error: ${whole.status}`);
    const v2 = usablePart(whole.value, `/${root}/`);
    if (!v2) this.#context.log.info('a remote API has no OpenAPI v2 that can be used', { group, version });
    const same = before?.v2 && JSON.stringify(before.v2) === JSON.stringify(v2) ? before.v2 : v2;
    return { v2: same, v2ETag: whole.etag, v3 };
  }

  #publish(): void {
    const entries = this.#registry
      .entries()
      .sort(
        (a, b) =>
          b.spec.groupPriorityMinimum - a.spec.groupPriorityMinimum ||
          b.spec.versionPriority - a.spec.versionPriority ||
          (a.name < b.name ? -1 : 1),
      );
    const described = entries.map((entry) => ({ entry, known: this.#known.get(entry.name) }));
    this.#openApi = {
      v2: described.flatMap(({ known }) => (known?.v2 ? [known.v2] : [])),
      v3: Object.fromEntries(
        described.flatMap(({ entry: { group, version }, known }) =>
          known?.v3 === undefined ? [] : [[`apis/${group}/${version}`, known.v3]],
        ),
      ),
    };
  }
}

/** Whoever asks for all documents, be it in protobuf, must not get none because of this one. */
function usablePart(document: unknown, prefix: string): Json | undefined {
  try {
    const part = ownPart(document, prefix);
    encodeOpenApiV2({ ...part, swagger: '2.0', info: { title: '', version: '' } });
    return part;
  } catch {
    return undefined;
  }
}

/** Only where it leads to the document of that name: it is followed through this server. */
function linkIn(index: unknown, name: string): string | undefined {
  const { paths } = index as { readonly paths?: Readonly<Record<string, { readonly serverRelativeURL?: unknown }>> };
  const link = paths?.[name]?.serverRelativeURL;
  const path = `/openapi/v3/${name}`;
  return typeof link === 'string' && (link === path || link.startsWith(`${path}?`)) ? link : undefined;
}
