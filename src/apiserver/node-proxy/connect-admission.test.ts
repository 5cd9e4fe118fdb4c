import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AdmissionPlugin } from '../admission/admission.ts';
import { AdmissionChain } from '../admission/chain.ts';
import { HttpRequest } from '../http/http-request.ts';
import type { ApiRequest } from '../request.ts';
import { parseRequestInfo } from '../request-info.ts';
import { admittedConnection } from './connect-admission.ts';

test('a connection that came over a socket is made with the options as admission left them', async () => {
  const seen: unknown[] = [];
  const plugin: AdmissionPlugin = {
    name: 'Renames',
    handles: (operation) => operation === 'CONNECT',
    admit: (attributes) => {
      const options = attributes.object as unknown as Record<string, unknown>;
      seen.push({ ...options });
      options.container = 'sidecar';
      return undefined;
    },
  };
  let connected: ApiRequest | undefined;
  const handler = admittedConnection(
    'PodExecOptions',
    () => new AdmissionChain([plugin]),
    async (request) => {
      connected = request;
      return { status: 200, headers: {}, body: { kind: 'none' } };
    },
  );
  const request = new HttpRequest({
    method: 'POST',
    target: '/api/v1/namespaces/default/pods/web/exec?command=sh&command=-i&container=main&stdin=true',
    headers: {},
    body: { kind: 'none' },
    remoteAddress: '192.0.2.1',
    clientCertificates: [],
  });
  request.user = { name: 'jane', groups: [] };
  await handler(request, parseRequestInfo(request.method, request.path, request.query));
  assert.deepEqual(seen, [
    { kind: 'PodExecOptions', apiVersion: 'v1', command: ['sh', '-i'], container: 'main', stdin: true },
  ]);
  assert.deepEqual(connected?.query.getAll('container'), ['sidecar']);
  assert.deepEqual(connected?.query.getAll('command'), ['sh', '-i']);
  assert.equal(connected?.path, request.path);
});
