/**
 * What the server tells about itself: discovery (`/api`, `/apis`) and OpenAPI (`/openapi`). Documents are made, and their
 * code is loaded, on first use. Clients that know a document's ETag are told that it has not changed.
 */
import { apiVersionOf } from '../apimachinery/resource.ts';
import { genericServerResponse } from '../apimachinery/status.ts';
import type { Clock } from '../base/clock.ts';
import type { DiscoveredResource } from './discovery/discovered.ts';
import type { Discovery } from './discovery/discovery.ts';
import type { RemoteOpenApi } from './openapi/joined-documents.ts';
import type { OpenApi } from './openapi/openapi.ts';
import type { DocumentedResource } from './openapi/operations.ts';
import { notFoundAt, notFoundPage } from './pages.ts';
import type { DiscoveredApis, RemoteApis } from './remote-apis.ts';
import type { Handler } from './request.ts';
import type { ServedResources } from './resources.ts';
import { serverVersion } from './version.ts';

export interface DocumentsOptions {
  readonly resources: ServedResources;
  readonly clock: Clock;
  /** `host:port` as clients see it. */
  readonly serverAddress: string;
  /** Servers behind this one; undefined while there is none. */
  readonly remoteApis: () => RemoteApis | undefined;
}

export class ServerDocuments {
  readonly #options: DocumentsOptions;
  #discovery: Promise<Discovery> | undefined;
  #openApi: Promise<OpenApi> | undefined;
  /** What was told before, some of which may still be true. */
  #lastOpenApi: Promise<OpenApi | undefined> | undefined;
  /** Of the resources that the documents tell of. */
  #generation = 0;
  /** What the discovery documents tell of other servers. */
  #discovered: DiscoveredApis | undefined;
  #remoteOpenApi: RemoteOpenApi | undefined;

  constructor(options: DocumentsOptions) {
    this.#options = options;
  }

  /** Who answers at a path without trailing slash; undefined when it is none of these documents. */
  handler(path: string): Handler | undefined {
    if (/^\/apis?(\/|$)/.test(path)) return this.#discoveryHandler();
    if (/^\/openapi\/v[23](\/|$)/.test(path) && !path.endsWith('/')) return this.#openApiHandler();
    return undefined;
  }

  /** Forgets the documents when other resources are served by now. */
  #renew(): void {
    const { generation } = this.#options.resources;
    const discovered = this.#options.remoteApis()?.discovered;
    if (discovered !== this.#discovered) this.#discovery = undefined;
    this.#discovered = discovered;
    const remoteOpenApi = this.#options.remoteApis()?.openApi;
    if (remoteOpenApi !== this.#remoteOpenApi) this.#forgetOpenApi();
    this.#remoteOpenApi = remoteOpenApi;
    if (generation === this.#generation) return;
    this.#generation = generation;
    this.#discovery = undefined;
    this.#forgetOpenApi();
  }

  #forgetOpenApi(): void {
    this.#lastOpenApi = this.#openApi?.catch(() => undefined) ?? this.#lastOpenApi;
    this.#openApi = undefined;
  }

  #discoveryHandler(): Handler {
    return async (request, info) => {
      const { resources, serverAddress } = this.#options;
      const missing = notFoundAt(resources, info.path);
      // As upstream: versions are for reading, groups answer to whatever method.
      if (request.method !== 'GET' && versionPath.test(info.path) && resources.isBelowBuiltIn(info.path)) {
        throw genericServerResponse({ code: 405, method: request.method });
      }
      this.#renew();
      const discovered = this.#discovered;
      this.#discovery ??= import('./discovery/discovery.ts').then(
        ({ Discovery }) =>
          new Discovery({
            resources: discoveredResources(resources, discovered),
            ranks: discovered?.ranks,
            serverAddress,
          }),
      );
      const [discovery, { discoveryReply }] = await Promise.all([this.#discovery, replies()]);
      return discoveryReply(request, discovery) ?? missing(request, info);
    };
  }

  async #describe(): Promise<OpenApi> {
    const remote = this.#remoteOpenApi;
    const { resources } = this.#options;
    const [{ OpenApi }, previous] = await Promise.all([import('./openapi/openapi.ts'), this.#lastOpenApi]);
    const version = `${serverVersion.major}.${serverVersion.minor}`;
    const described = [...documentedResources(resources), ...(this.#options.remoteApis()?.documented ?? [])];
    return new OpenApi({ resources: described, version, remote, previous });
  }

  #openApiHandler(): Handler {
    return async (request, info) => {
      const { clock } = this.#options;
      this.#renew();
      this.#openApi ??= this.#describe();
      const [openApi, { openApiReply }] = await Promise.all([this.#openApi, replies()]);
      return openApiReply(request, openApi, clock.now()) ?? notFoundPage(request, info);
    };
  }
}

/** `/api`, `/api/v1`, `/apis/GROUP/VERSION`. */
const versionPath = /^\/(?:api(?:\/[^/]+)?|apis\/[^/]+\/[^/]+)\/?$/;

const replies = () => import('./discovery/document-reply.ts');

/** A group version that another server serves is that server's alone. */
function discoveredResources(resources: ServedResources, remote: DiscoveredApis | undefined): DiscoveredResource[] {
  const own = [...resources.all()].flatMap(({ row, custom }) => (custom ? (custom.discovered ?? []) : row));
  if (!remote) return own;
  const theirs = new Set(remote.ranks.filter(({ stale }) => stale !== undefined).map(apiVersionOf));
  return [...own.filter((resource) => !theirs.has(apiVersionOf(resource))), ...remote.resources];
}

function documentedResources(resources: ServedResources): DocumentedResource[] {
  return [...resources.all()].flatMap(({ row, custom, listKind }): DocumentedResource[] => {
    if (!custom) return [row];
    const { discovered, publishedSchema } = custom;
    return discovered ? [{ ...discovered, type: undefined, listKind, schema: publishedSchema }] : [];
  });
}
