/** Real kubectl reads the discovery and OpenAPI documents; each version that is installed has its turn. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { builtinResources } from '../../src/api/schema.ts';
import { Discovery } from '../../src/apiserver/discovery/discovery.ts';
import { OpenApi } from '../../src/apiserver/openapi/openapi.ts';
import { kubectlReleases } from '../../src/testing/kubectl.ts';
import { needs } from '../../src/testing/needs.ts';

const releases = kubectlReleases();
/** The oldest and the newest. */
const programs = [...new Set([releases[0], releases.at(-1)])].flatMap((kubectl) => kubectl?.path ?? []);

describe('kubectl', needs('kubectl'), () => {
  let server: Server;
  let folder: string;
  const asked: string[] = [];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'coracle-openapi-'));
    server = documentServer(asked);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  after(() => {
    server.close();
    server.closeAllConnections();
    rmSync(folder, { recursive: true });
  });

  for (const [index, program] of programs.entries()) {
    const run = async (...args: string[]): Promise<string> => {
      const { port } = server.address() as AddressInfo;
      const env = { HOME: join(folder, String(index)), PATH: process.env.PATH };
      const { stdout } = await promisify(execFile)(program, ['--server', `http://127.0.0.1:${port}`, ...args], { env });
      return stdout;
    };

    describe(program.slice(program.lastIndexOf('/') + 1), { concurrency: false }, () => {
      it('lists resources with short names and kinds', async () => {
        const lines = (await run('api-resources')).split('\n');
        assert.ok(lines.some((line) => /^deployments\s+deploy\s+apps\/v1\s+true\s+Deployment$/.test(line.trim())));
      });

      it('explains a field', async () => {
        const explained = await run('explain', 'deployment.spec.template.spec.containers.imagePullPolicy');
        assert.match(explained, /When to pull the image/);
      });

      it('explains a kind recursively', async () =>
        assert.match(await run('explain', 'pod', '--recursive'), /terminationGracePeriodSeconds/));

      it('explains by the protobuf of version 2', async () => {
        asked.length = 0;
        assert.match(
          await run('explain', 'pod.spec', '--output=plaintext-openapiv2'),
          /containers\s+<\[\]Object> -required-/,
        );
        assert.ok(asked.some((line) => /^\/openapi\/v2 .*protobuf/.test(line)));
      });

      it('finds that the server validates fields, so it leaves that to the server', async () => {
        const file = join(folder, 'pod.yaml');
        writeFileSync(
          file,
          'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, bogus: 1}]}\n',
        );
        assert.equal(await run('create', '--dry-run=client', '--validate=strict', '-f', file, '-o', 'name'), 'pod/a\n');
      });
    });
  }
});

function documentServer(asked: string[]): Server {
  const resources = builtinResources().filter((row) => row.enabledByDefault && row.gate === undefined);
  const openApi = new OpenApi({ resources, version: 'v1.36.2' });
  const discovery = new Discovery({ resources });
  return createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://server');
    const { accept } = request.headers;
    asked.push(`${pathname} ${accept}`);
    const document = pathname.startsWith('/openapi/')
      ? openApi.document(pathname, accept)
      : discovery.document(pathname, accept);
    if (!document) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': document.contentType, etag: document.etag }).end(document.body);
  });
}
