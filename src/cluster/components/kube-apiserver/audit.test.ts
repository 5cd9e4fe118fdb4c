/** The audit log as flags and files ask for it. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { flags } from '../../../apiserver/gen/flags.ts';
import { parseRequestInfo } from '../../../apiserver/request-info.ts';
import { startWebhookServer } from '../../../apiserver/webhook-client/webhook-server.fixture.ts';
import { systemClock } from '../../../base/clock.ts';
import { type Log, silentLog } from '../../../base/log.ts';
import { systemRandom } from '../../../base/random.ts';
import { parseFlags } from '../../../serving/flags.ts';
import { GivenFlags } from '../flags/given-flags.ts';
import { auditorFrom } from './audit.ts';

const folder = mkdtempSync(join(tmpdir(), 'coracle-audit-flags-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const parts = { clock: systemClock, random: systemRandom, log: silentLog };
const log = join(folder, 'audit.log');
const given = (...words: string[]) => new GivenFlags(parseFlags(flags, words));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const policy = file('policy.yaml', 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n');

const known = {
  request: {
    method: 'GET',
    path: '/healthz',
    query: new URLSearchParams(),
    headers: {},
    body: { kind: 'none' },
    remoteAddress: '192.0.2.7',
    clientCertificates: [],
    signal: new AbortController().signal,
  },
  info: parseRequestInfo('GET', '/healthz', new URLSearchParams()),
  user: { name: 'ada', groups: [] },
  auditID: 'id',
  receivedAtMs: Date.UTC(2026, 0, 1),
} as const;

test('a policy and a path make a log of lines, in either format', async () => {
  for (const [format, line] of [
    ['json', /^\{"kind":"Event","apiVersion":"audit\.k8s\.io\/v1","level":"Metadata","auditID":"id"/],
    [
      'legacy',
      /^2026-01-01T00:00:00\.000000Z AUDIT: id="id" stage="RequestReceived" ip="192\.0\.2\.7" method="get" user="ada"/,
    ],
  ] as const) {
    const path = `${log}.${format}`;
    const auditor = await auditorFrom(
      given(`--audit-policy-file=${policy}`, `--audit-log-path=${path}`, `--audit-log-format=${format}`),
      parts,
    );
    await auditor!.begin(known);
    await auditor!.close();
    assert.match(readFileSync(path, 'utf8'), line);
  }
});

test('a kubeconfig makes a webhook, which gets batches', async () => {
  const received: { readonly kind: string; readonly items: readonly unknown[] }[] = [];
  await using server = await startWebhookServer((body) => {
    received.push(body);
    return {};
  });
  const cluster = `{name: a, cluster: {server: "${server.url}", certificate-authority-data: ${server.caBundle}}}`;
  const text = `apiVersion: v1\nkind: Config\nclusters: [${cluster}]\nusers: []\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n`;
  const path = file('webhook.yaml', text);
  const auditor = await auditorFrom(
    given(`--audit-policy-file=${policy}`, `--audit-webhook-config-file=${path}`, '--audit-webhook-batch-max-size=2'),
    parts,
  );
  for (let i = 0; i < 3; i++) await auditor!.begin(known);
  await auditor!.close();
  assert.deepEqual(
    received.map(({ kind, items }) => [kind, items.length]),
    [
      ['EventList', 2],
      ['EventList', 1],
    ],
  );
});

test('half of what is needed audits nothing, and says so', async () => {
  const warnings: string[] = [];
  const telling: Log = { ...silentLog, warn: (message) => void warnings.push(message) };
  assert.equal(await auditorFrom(given(`--audit-policy-file=${policy}`), { ...parts, log: telling }), undefined);
  assert.match(warnings.join(), /nothing is audited/);
});

const refusals: readonly (readonly [name: string, text: string, message: RegExp])[] = [
  ['no rules', 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: []\n', /loaded illegal policy with 0 rules/],
  ['another kind', 'apiVersion: v1\nkind: Pod\n', /no kind "Pod" is registered for version "v1"/],
  [
    'an unknown level',
    'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: All}]\n',
    /Unsupported value: "All"/,
  ],
];
for (const [name, text, message] of refusals) {
  test(`a policy with ${name} is refused`, async () => {
    const path = file('bad.yaml', text);
    await assert.rejects(auditorFrom(given(`--audit-policy-file=${path}`, `--audit-log-path=${log}`), parts), {
      message,
    });
  });
}

test('an unknown field of a policy is only warned of', async () => {
  const warnings: unknown[] = [];
  const telling: Log = { ...silentLog, warn: (_, fields) => void warnings.push(fields?.problem) };
  const path = file('newer.yaml', 'apiVersion: audit.k8s.io/v1\nkind: Policy\nnewer: 1\nrules: [{level: None}]\n');
  const auditor = await auditorFrom(given(`--audit-policy-file=${path}`, `--audit-log-path=${log}`), {
    ...parts,
    log: telling,
  });
  await auditor!.close();
  assert.deepEqual(warnings, ['strict decoding error: unknown field "newer"']);
});
