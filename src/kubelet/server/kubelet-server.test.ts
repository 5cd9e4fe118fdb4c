import assert from 'node:assert/strict';
import { appendFile, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { request as plainRequest } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Draft } from '../../apimachinery/meta.ts';
import { draft } from '../../apimachinery/meta.ts';
import { systemClock } from '../../base/clock.ts';
import { silentLog } from '../../base/log.ts';
import { delegatedAuthentication } from '../../serving/delegated-authentication.ts';
import { type AccessQuestion, alwaysAllow } from '../../serving/delegated-authorization.ts';
import { subresourcesOf } from './access.ts';
import { type KubeletServer, startKubeletServer } from './kubelet-server.ts';
import { runningPod, testKeys, testView } from './node.fixture.ts';
import { processRuntime } from './process-runtime.fixture.ts';

const keys = testKeys();
const foreign = testKeys();
const admin = keys.client('admin', ['system:masters']);
const waiting: Draft<Pod> = draft(runningPod('waiting', [{ name: 'main' }]));
waiting.status!.containerStatuses![0]!.state = { waiting: { reason: 'ContainerCreating' } };
waiting.status!.containerStatuses![0]!.containerID = '';
const pods: Pod[] = [runningPod('web', [{ name: 'main' }, { name: 'side' }]), waiting];
const stopped = new Set<string>();

let directory: string;
let server: KubeletServer;
const asked: AccessQuestion[] = [];

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'coracle-kubelet-server-'));
  await mkdir(join(directory, 'logs'));
  await writeFile(join(directory, 'logs', 'syslog'), 'a line\n');
  await writeFile(join(directory, 'secret'), 'hidden');
  await symlink(join(directory, 'secret'), join(directory, 'logs', 'link'));
  const runtime = processRuntime({
    pods: () => pods,
    logPath: (id) => join(directory, `${id}.log`),
    running: (id) => !stopped.has(id),
  });
  server = await startKubeletServer(testView({ nodeName: 'node-a', runtime, pods: () => pods }), {
    listen: { host: '127.0.0.1', port: 0 },
    healthz: { host: '127.0.0.1', port: 0 },
    tls: pair(keys.serving()),
    authenticate: delegatedAuthentication({
      clock: systemClock,
      clientAuthorities: () => keys.authority.certificatePem,
      anonymous: true,
    }),
    async authorize(question) {
      asked.push(question);
      const isAdmin = question.user.groups.includes('system:masters');
      const onlyMetrics = 'resource' in question && question.resource.subresource === 'metrics';
      return { allowed: isAdmin || (question.user.name === 'scraper' && onlyMetrics), reason: '' };
    },
    clock: systemClock,
    log: silentLog,
    systemLogs: { directory: join(directory, 'logs') },
  });
});
after(async () => {
  await server.close();
  await rm(directory, { recursive: true });
});

function pair({ certificatePem, keyPem }: { certificatePem: string; keyPem: string }) {
  return { certificate: certificatePem, key: keyPem };
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly type: string;
}

interface CallOptions {
  readonly method?: string;
  readonly as?: { certificatePem: string; keyPem: string } | undefined;
  readonly onData?: (text: string) => void;
}

function call(path: string, { method = 'GET', as = admin, onData }: CallOptions = {}): Promise<Answer> {
  const { host, port } = server.address;
  return new Promise((resolve, reject) => {
    const credentials = { cert: as.certificatePem, key: as.keyPem };
    const options = { host, port, path, method, agent: false, ca: keys.authority.certificatePem };
    const outgoing = request({ ...options, ...(as === nobody ? {} : credentials) }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        onData?.(text);
      });
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, text, type: response.headers['content-type'] ?? '' });
      });
      response.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

const nobody = { certificatePem: '', keyPem: '' };
const line = (time: string, text: string, tag = 'F') => `2026-01-01T00:00:${time}.000000000Z stdout ${tag} ${text}\n`;

describe('who may ask', () => {
  it('knows its clients by certificate, and refuses certificates of strangers', async () => {
    assert.equal((await call('/pods')).status, 200);
    const stranger = await call('/pods', { as: foreign.client('admin', ['system:masters']) });
    assert.deepEqual([stranger.status, stranger.text], [401, 'Unauthorized']);
  });

  it('tells who speaks plain HTTP to it that this is a port of HTTPS', async () => {
    const { host, port } = server.address;
    const answer = await new Promise<string>((resolve, reject) => {
      const asking = plainRequest({ host, port, path: '/pods', agent: false }, (response) => {
        response.on('data', (chunk: Buffer) => resolve(`${response.statusCode} ${chunk}`));
      });
      asking.on('error', reject);
      asking.end();
    });
    assert.equal(answer, '400 Client sent an HTTP request to an HTTPS server.\n');
  });

  it('tells who is refused what, in upstream´s words', async () => {
    const anonymous = await call('/pods', { as: nobody });
    assert.equal(anonymous.status, 403);
    assert.equal(
      anonymous.text,
      'Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource(s)=[pods proxy])\n',
    );
  });

  it('gives the right to metrics without the right to everything', async () => {
    const scraper = keys.client('scraper');
    assert.equal((await call('/metrics/resource', { as: scraper })).status, 200);
    assert.equal((await call('/containerLogs/default/web/main', { as: scraper })).status, 403);
  });

  it('asks for the subresource of this node that the path stands for', async () => {
    asked.length = 0;
    await call('/run/default/web/main?cmd=true', { method: 'POST' });
    const [question] = asked;
    assert.ok(question && 'resource' in question);
    assert.deepEqual(question.resource, {
      verb: 'create',
      group: '',
      version: 'v1',
      resource: 'nodes',
      subresource: 'proxy',
      name: 'node-a',
    });
    const expected = {
      '/stats/summary': ['stats'],
      '/metrics/cadvisor': ['metrics'],
      '/logs/syslog': ['log'],
      '/spec/': ['spec'],
      '/pods': ['pods', 'proxy'],
      '/runningpods/': ['pods', 'proxy'],
      '/healthz/syncloop': ['healthz', 'proxy'],
      '/configz': ['configz', 'proxy'],
      '/debug/causes': ['proxy'],
      '/podsy': ['proxy'],
      '/exec/default/web/main': ['proxy'],
    };
    for (const [path, subresources] of Object.entries(expected)) assert.deepEqual(subresourcesOf(path), subresources);
  });
});

describe('pages', () => {
  it('tells what holds Pods up', async () => {
    assert.deepEqual(JSON.parse((await call('/debug/causes')).text), { kind: 'CauseList', items: [] });
  });

  it('lists Pods, and what runs', async () => {
    const all = JSON.parse((await call('/pods')).text);
    assert.deepEqual([all.kind, all.items.length], ['PodList', 2]);
    const running = JSON.parse((await call('/runningpods/')).text);
    assert.deepEqual(
      running.items.map((pod: Pod) => [pod.metadata.name, pod.spec.containers.length]),
      [
        ['web', 2],
        ['waiting', 1],
      ],
    );
  });

  it('says that it is well, on loopback without credentials too', async () => {
    assert.equal((await call('/healthz')).text, 'ok');
    assert.equal((await call('/healthz/syncloop')).text, 'ok');
    assert.equal((await call('/healthz/device-plugin')).text, 'ok');
    assert.equal((await call('/healthz/nonsense')).status, 404);
    const plain = await new Promise<number>((resolve) => {
      const { host, port } = server.healthzAddress!;
      plainRequest({ host, port, path: '/healthz', agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      }).end();
    });
    assert.equal(plain, 200);
  });

  it('sums up what Pods and the node use', async () => {
    const summary = JSON.parse((await call('/stats/summary')).text);
    assert.equal(summary.node.memory.workingSetBytes, 2 << 20);
    assert.equal(summary.node.fs.usedBytes, 600);
    const [web] = summary.pods;
    assert.deepEqual(web.podRef, { name: 'web', namespace: 'default', uid: 'uid-web' });
    assert.equal(web.cpu.usageCoreNanoSeconds, 5_000_000_000);
    assert.equal(web.containers[0].memory.workingSetBytes, 4096);
    const brief = JSON.parse((await call('/stats/summary?only_cpu_and_memory=true')).text);
    assert.equal(brief.node.fs, undefined);
  });

  it('offers metrics in the text format', async () => {
    const resource = await call('/metrics/resource');
    assert.match(resource.type, /^text\/plain; version=0\.0\.4/);
    const expected =
      'container_cpu_usage_seconds_total{container="main",namespace="default",pod="web"} 2.5 1767225600000';
    assert.ok(resource.text.split('\n').includes(expected), resource.text);
    assert.match(resource.text, /^resource_scrape_error 0$/m);
    assert.match((await call('/metrics')).text, /^kubelet_running_pods 2$/m);
    assert.match((await call('/metrics/cadvisor')).text, /^machine_cpu_cores 4$/m);
  });

  it('shows files of the log folder and nothing beside it', async () => {
    assert.equal((await call('/logs/syslog')).text, 'a line\n');
    assert.match((await call('/logs/')).text, /<a href="syslog">syslog<\/a>/);
    for (const path of ['/logs/../secret', '/logs/%2e%2e%2fsecret', '/logs/link', '/logs/none'])
      assert.equal((await call(path)).status, 404, path);
  });

  it('knows no other paths and methods', async () => {
    assert.deepEqual(await call('/none'), {
      status: 404,
      text: '404: Page Not Found',
      type: 'text/plain; charset=utf-8',
    });
    assert.equal((await call('/pods', { method: 'DELETE' })).status, 405);
    assert.equal((await call('/run/default/web/main')).status, 405);
    assert.equal((await call('/exec/default/web/main?command=true&output=1')).status, 500);
  });

  it('runs a command to its end', async () => {
    const answer = await call('/run/default/web/main?cmd=echo%20a%20b', { method: 'POST' });
    assert.deepEqual([answer.status, answer.text], [200, 'a b\n']);
    const long = 'a'.repeat(100_000);
    assert.equal((await call(`/run/default/web/main?cmd=echo%20${long}`, { method: 'POST' })).text, `${long}\n`);
    assert.equal((await call('/run/default/none/main?cmd=true', { method: 'POST' })).text, 'pod does not exist');
    const missing = await call('/run/default/web/none?cmd=true', { method: 'POST' });
    assert.deepEqual([missing.status, missing.text], [500, 'container not found ("none")']);
  });
});

describe('container logs', () => {
  const log = () => join(directory, 'web-main.log');
  before(() => writeFile(log(), line('01', 'one') + line('02', 'tw', 'P') + line('02', 'o') + line('03', 'three')));

  it('joins what the runtime has cut', async () => {
    assert.equal((await call('/containerLogs/default/web/main')).text, 'one\ntwo\nthree\n');
  });

  it('chooses by number, time and size', async () => {
    const at = async (query: string) => (await call(`/containerLogs/default/web/main?${query}`)).text;
    assert.equal(await at('tailLines=1'), 'three\n');
    assert.equal(await at('tailLines=0'), '');
    assert.equal(await at('tail=all'), 'one\ntwo\nthree\n');
    assert.equal(await at('sinceTime=2026-01-01T00:00:03Z'), 'three\n');
    assert.equal(await at('sinceSeconds=1'), '');
    assert.equal(await at('limitBytes=5'), 'one\nt');
    assert.equal(await at('tailLines=1&timestamps=true'), '2026-01-01T00:00:03.000000000Z three\n');
  });

  it('refuses parameters without sense, and says why there is no log', async () => {
    const cases: [string, number, string][] = [
      ['web/main?tailLines=x', 400, '{"message": "Unable to decode query."}'],
      ['web/main?tailLines=-1', 422, '{"message": "Invalid request."}'],
      ['web/main?sinceSeconds=1&sinceTime=2026-01-01T00:00:03Z', 422, '{"message": "Invalid request."}'],
      ['none/main', 404, 'pod "none" does not exist'],
      ['web/none', 404, 'container "none" not found in pod "web"'],
      ['web/main?previous=true', 400, 'previous terminated container "main" in pod "web" not found'],
      ['waiting/main', 400, 'container "main" in pod "waiting" is waiting to start: ContainerCreating'],
    ];
    for (const [path, status, text] of cases) {
      const answer = await call(`/containerLogs/default/${path}`);
      assert.deepEqual([answer.status, answer.text], [status, text], path);
    }
  });

  it('follows across a rotation until the container has ended', async () => {
    const path = join(directory, 'web-side.log');
    await writeFile(path, line('01', 'before'));
    let seen = '';
    const waiters: (() => void)[] = [];
    const shows = (text: string) =>
      new Promise<void>((resolve) => {
        const check = () => (seen.includes(text) ? resolve() : void waiters.push(check));
        check();
      });
    const answer = call('/containerLogs/default/web/side?follow=true', {
      onData(text) {
        seen = text;
        for (const check of waiters.splice(0)) check();
      },
    });
    await shows('before');
    await appendFile(path, line('02', 'last of the old'));
    await rename(path, `${path}.1`);
    await writeFile(path, line('03', 'first of the new'));
    await shows('first of the new');
    await appendFile(path, line('04', 'the end'));
    stopped.add('web-side');
    assert.equal((await answer).text, 'before\nlast of the old\nfirst of the new\nthe end\n');
    stopped.clear();
  });
});

it('serves with a renewed certificate from the next connection on', async () => {
  const other = testKeys();
  server.replaceCertificate(pair(other.serving()));
  await assert.rejects(call('/pods'), /unable to verify|self-signed|unable to get/i);
  server.replaceCertificate(pair(keys.serving()));
  assert.equal((await call('/pods')).status, 200);
});

it('keeps sessions and logs to itself when they are switched off', async () => {
  const runtime = processRuntime({ pods: () => pods });
  const closed = await startKubeletServer(testView({ nodeName: 'node-a', runtime, pods: () => pods }), {
    listen: { host: '127.0.0.1', port: 0 },
    tls: pair(keys.serving()),
    authenticate: async () => ({ name: 'a', groups: [] }),
    authorize: alwaysAllow,
    clock: systemClock,
    log: silentLog,
    enableDebuggingHandlers: false,
  });
  const open = server;
  server = closed;
  try {
    const answer = await call('/containerLogs/default/web/main');
    assert.deepEqual([answer.status, answer.text], [405, 'Debug endpoints are disabled.\n']);
    assert.equal((await call('/pods')).status, 200);
  } finally {
    server = open;
    await closed.close();
  }
});
