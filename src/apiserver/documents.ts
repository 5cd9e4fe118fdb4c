/**
 * What the server tells about itself: discovery (`/api`, `/apis`) and OpenAPI (`/openapi`). Documents are made, and their
 * code is loaded, on first use. Clients that know a document's ETag are told that it has not changed.
 */
import type { Discovery } from './discovery/discovery.ts';
import type { OpenApi } from './openapi/openapi.ts';
import { notFoundPage } from './pages.ts';
import type { ApiRequest, ApiResponse, Handler } from './request.ts';
import type { ServedResources } from './resources.ts';
import { serverVersion } from './version.ts';

interface Document {
  readonly body: Buffer;
  readonly contentType: string;
  readonly etag: string;
}

export interface DocumentsOptions {
  readonly resources: ServedResources;
  /** `host:port` as clients see it. */
  readonly serverAddress: string;
}

export class ServerDocuments {
  readonly #options: DocumentsOptions;
  #discovery: Promise<Discovery> | undefined;
  #openApi: Promise<OpenApi> | undefined;

  constructor(options: DocumentsOptions) {
    this.#options = options;
  }

  /** Who answers at a path without trailing slash; undefined when it is none of these documents. */
  handler(path: string): Handler | undefined {
    if (/^\/apis?(\/|$)/.test(path)) return this.#discoveryHandler(path);
    if (/^\/openapi\/v[23](\/|$)/.test(path)) return this.#openApiHandler(path);
    return undefined;
  }

  #discoveryHandler(path: string): Handler {
    return async (request, info) => {
      const { resources, serverAddress } = this.#options;
      this.#discovery ??= import('./discovery/discovery.ts').then(
        ({ Discovery }) => new Discovery({ resources: resources.rows(), serverAddress }),
      );
      const document = (await this.#discovery).document(path, request.headers.accept);
      return document ? documentResponse(request, document) : notFoundPage(request, info);
    };
  }

  #openApiHandler(path: string): Handler {
    return async (request, info) => {
      const { resources } = this.#options;
      this.#openApi ??= import('./openapi/openapi.ts').then(
        ({ OpenApi }) => new OpenApi({ resources: resources.rows(), version: serverVersion.gitVersion }),
      );
      const document = (await this.#openApi).document(path, request.headers.accept);
      return document ? documentResponse(request, document) : notFoundPage(request, info);
    };
  }
}

function documentResponse({ headers: asked }: ApiRequest, { body, contentType, etag }: Document): ApiResponse {
  const headers = { 'content-type': contentType, etag, vary: 'Accept', 'cache-control': 'public' };
  if (asked['if-none-match'] === etag) return { status: 304, headers, body: { kind: 'none' } };
  return { status: 200, headers, body: { kind: 'bytes', chunks: [body] } };
}
