/**
 * Two controller managers on hosts of their own with upstream's times (15, 10, 2 seconds), and the leader killed, frozen, cut off: the other
 * acts within the lease's time, and by the server's audit log the old one asks for nothing once its time is over.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { certificateUser, formatKubeconfig, kubeconfigOf } from '../../src/client/kubeconfig.ts';
import { eventually } from '../../src/testing/eventually.ts';
import { needs } from '../../src/testing/needs.ts';
import { type HostProcess, hostProcess } from '../etcd/servers.fixture.ts';
import { Field, fieldParts, serverPort, within } from './rig.ts';

const serverAddress = '10.99.0.1';
/** The lease's 15 seconds, and 10: the other looks every 2 to 4.4, the rest is for a busy machine. The bound is what is promised. */
const takeOverMs = 25_000;

interface Candidate {
  readonly hostname: string;
  readonly address: string;
  readonly process: HostProcess;
}

/** Of the audit log: when the server got what from whom. */
interface Heard {
  readonly atMs: number;
  readonly address: string;
  readonly what: string;
}

describe('two controller managers', needs(...fieldParts, 'kubectl'), () => {
  let field: Field;
  let candidates: readonly Candidate[];
  let auditLog: string;
  let kubeconfig: string;

  before(async () => {
    field = new Field([serverAddress]);
    auditLog = join(field.folder, 'audit.log');
    const policy = join(field.folder, 'policy.yaml');
    writeFileSync(policy, '{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata}]}');
    const audit = [`--audit-policy-file=${policy}`, `--audit-log-path=${auditLog}`];
    await field.apiServer('server', serverAddress, [`--data-dir=${field.folder}/data`, ...audit]).start();
    kubeconfig = join(field.folder, 'kubeconfig');
    const { ca, cert, key } = field.tls as Record<'ca' | 'cert' | 'key', string>;
    const server = `https://${serverAddress}:${serverPort}`;
    const config = kubeconfigOf({ name: 'test', server, caPem: ca, user: certificateUser(cert, key) });
    writeFileSync(kubeconfig, formatKubeconfig(config));
    candidates = ['host-a', 'host-b'].map((hostname, i) => candidate(hostname, `10.99.2.${i + 1}`));
    await Promise.all(candidates.map((each) => each.process.start()));
  });
  after(() => field?.[Symbol.asyncDispose]());

  function candidate(hostname: string, address: string): Candidate {
    const name = 'kube-controller-manager';
    const running = hostProcess({
      hostname,
      words: [name, `--kubeconfig=${kubeconfig}`, '--secure-port=0', '--use-service-account-credentials'],
      started: `${name} starts`,
      within: within(field.host(address)),
    });
    field.part({ ...running, address });
    return { hostname, address, process: running };
  }

  const kubectl = (...words: string[]) => field.router.run('kubectl', `--kubeconfig=${kubeconfig}`, ...words);
  const holder = () => {
    const path = 'jsonpath={.spec.holderIdentity}';
    const identity = kubectl('-n', 'kube-system', 'get', 'lease', 'kube-controller-manager', '-o', path);
    return candidates.find(({ hostname }) => identity.startsWith(`${hostname}_`));
  };
  const leader = () => eventually(() => holder() ?? assert.fail('nobody leads'));
  const other = (one: Candidate) => candidates.find((each) => each !== one)!;
  const takesOver = (next: Candidate) => eventually(holder, (leading) => leading === next, { withinMs: takeOverMs });

  /** A namespace that a controller gives its ServiceAccount. */
  async function workIsDone(name: string): Promise<void> {
    kubectl('create', 'namespace', name);
    await eventually(() => assert.match(kubectl('-n', name, 'get', 'serviceaccount', '-o', 'name'), /default/));
  }

  function heard(): readonly Heard[] {
    return readFileSync(auditLog, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"stage":"RequestReceived"'))
      .map(
        (line) =>
          JSON.parse(line) as Record<'requestReceivedTimestamp' | 'verb' | 'requestURI', string> & {
            readonly sourceIPs: string[];
          },
      )
      .map(({ requestReceivedTimestamp, verb, requestURI, sourceIPs }) => ({
        atMs: Date.parse(requestReceivedTimestamp),
        address: sourceIPs[0] ?? '',
        what: `${verb} ${requestURI}`,
      }));
  }

  const askedAfter = ({ address }: Candidate, atMs: number) =>
    heard().filter((each) => each.address === address && each.atMs > atMs);

  test('the leader is killed: the other acts within the lease’s time', async () => {
    const first = await leader();
    await workIsDone('before');
    await first.process.signal('SIGKILL');
    await takesOver(other(first));
    await workIsDone('after-kill');
    await first.process.start();
  });

  test('the leader is frozen: the other acts, and the thawed one asks for nothing any more', async () => {
    const first = await leader();
    // What is on its way while it freezes is nobody's to take back: nothing shall be.
    await sleep(systemClock, 500);
    await first.process.signal('SIGSTOP');
    // Work that waits in its sockets when it goes on.
    for (let i = 0; i < 5; i++) kubectl('create', 'namespace', `frozen-${i}`);
    await takesOver(other(first));
    await workIsDone('after-freeze');
    const thawedAtMs = systemClock.now();
    const ended = first.process.ended();
    await first.process.signal('SIGCONT');
    assert.equal(await ended, 1);
    await workIsDone('after-thaw');
    assert.notDeepEqual(askedAfter(first, 0), []);
    assert.deepEqual(askedAfter(first, thawedAtMs), []);
    await first.process.start();
  });

  test('the leader is cut off: it ends before the other leads, and asks for nothing when the way is free again', async () => {
    const first = await leader();
    const cutAtMs = systemClock.now();
    let endedAtMs = 0;
    const ended = first.process.ended().then(() => (endedAtMs = systemClock.now()));
    await field.cut([first.address], [serverAddress], async () => {
      await takesOver(other(first));
      await ended;
    });
    const ledAtMs = askedAfter(other(first), cutAtMs).find(({ what }) => /^update .*leases/.test(what))!.atMs;
    assert.ok(endedAtMs < ledAtMs, `ended at ${endedAtMs}, the other led at ${ledAtMs}`);
    await workIsDone('after-cut');
    assert.deepEqual(askedAfter(first, endedAtMs), []);
    await first.process.start();
  });
});
