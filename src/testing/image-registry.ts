/**
 * A container registry for tests on 127.0.0.1: serves images that were put into it by name, with or without a password, and
 * remembers what was asked for. A `hosts.toml` makes a runtime take it for `registry.test`.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { BuiltImage, OciBlob } from '../kubelet/images/oci-archive.ts';

export const registryHost = 'registry.test';

export interface ImageRegistry {
  /** `registry.test/NAME`. */
  add(name: string, image: BuiltImage): void;
  /** Asks for this user from now on. */
  requirePassword(username: string, password: string): void;
  readonly requests: readonly string[];
  stop(): Promise<void>;
}

/** `registryDirectory` is containerd's folder of registry settings. */
export async function startImageRegistry(registryDirectory: string): Promise<ImageRegistry> {
  const blobs = new Map<string, OciBlob>();
  const tags = new Map<string, string>();
  const requests: string[] = [];
  let authorization: string | undefined;
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const { url = '/', method, headers } = request;
    requests.push(`${method} ${url}`);
    if (authorization && headers.authorization !== authorization) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="registry"' }).end();
      return;
    }
    const match = /^\/v2\/(.+)\/(manifests|blobs)\/([^/?]+)/.exec(url);
    if (!match) {
      response.writeHead(url.startsWith('/v2') ? 200 : 404).end();
      return;
    }
    const [, name, , reference] = match;
    const found = blobs.get(reference!) ?? blobs.get(tags.get(`${name}:${reference}`) ?? '');
    if (!found) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {
      'content-type': found.mediaType,
      'content-length': found.bytes.length,
      'docker-content-digest': found.digest,
    });
    response.end(method === 'HEAD' ? undefined : found.bytes);
  };
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const directory = join(registryDirectory, registryHost);
  await mkdir(directory, { recursive: true });
  await writeFile(
    join(directory, 'hosts.toml'),
    `server = "http://127.0.0.1:${port}"\n[host."http://127.0.0.1:${port}"]\n  capabilities = ["pull", "resolve"]\n`,
  );
  return {
    add(name, image) {
      for (const blob of [image.manifest, image.config, image.layer]) blobs.set(blob.digest, blob);
      tags.set(name, image.manifest.digest);
    },
    requirePassword(username, password) {
      authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    },
    requests,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
