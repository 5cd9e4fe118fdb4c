/** What `coracle` cannot do, it says in a sentence, with what to do instead, and leaves nothing behind. */
import assert from 'node:assert/strict';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { needs } from '../../src/testing/needs.ts';
import { coracle, TestCluster } from './coracle.fixture.ts';

const nobody = 65_534;

describe('coracle tells its version', () => {
  it('by a verb and by the flags that programs have for it', () => {
    const [verb, ...flags] = [['version'], ['--version'], ['-v']].map((words) => coracle(words));
    assert.match(verb?.stdout ?? '', /^coracle \d+\.\d+\.\d+.*\nkubernetes v1\.36\.\d+.*\n$/);
    for (const flag of flags) assert.deepEqual(flag, verb);
  });

  for (const component of ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'kube-proxy'])
    it(`and that of Kubernetes as ${component} does upstream`, () => {
      assert.match(coracle([component, '--version']).stdout, /^Kubernetes v1\.36\.\d+\S*\n$/);
    });
});

describe('coracle refuses', () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await TestCluster.create();
  });
  after(() => cluster.remove());

  const refused = (words: readonly string[], problem: RegExp, advice: RegExp, options = {}) => {
    const { status, stdout, stderr } = coracle(words, options);
    assert.equal(status, 1, stdout + stderr);
    const [first = '', second = '', ...more] = stderr.trim().split('\n');
    assert.match(first, problem);
    assert.ok(first.startsWith('coracle: '), first);
    assert.match(second, advice);
    assert.deepEqual(more, [], 'two lines, and no stack');
  };
  /** A PATH with what the launcher needs, and nothing else. */
  const barePath = () => {
    const path = mkdtempSync(join(cluster.folder, 'path-'));
    for (const program of ['dirname', 'readlink', 'cmp']) symlinkSync(`/usr/bin/${program}`, join(path, program));
    return path;
  };
  const up = (...words: string[]) => ['up', '--runtime', 'simulated', '--detach', '--listen', cluster.listen, ...words];

  it('a port that is in use, by its number', async () => {
    const server: Server = createServer();
    await new Promise<void>((done) => server.listen(cluster.port, '127.0.0.1', done));
    const folder = join(cluster.folder, 'port');
    refused(up('--data-dir', folder), new RegExp(`port ${cluster.port} of 127.0.0.1 is in use`), /--listen/);
    assert.ok(!existsSync(join(folder, 'pki', 'ca.crt')), 'nothing was started');
    await new Promise((done) => server.close(done));
  });

  it('an address that is not this machine´s', () => {
    refused(
      ['up', '--runtime', 'simulated', '--listen', '198.51.100.7:6443', '--data-dir', join(cluster.folder, 'address')],
      /cannot listen on 198\.51\.100\.7 port 6443: this machine has no such address/,
      /--listen/,
    );
  });

  for (const { name, words, problem } of [
    { name: 'an address without a port', words: ['--listen', '127.0.0.1'], problem: /is not an IP address and a port/ },
    {
      name: 'a name that no Node can have',
      words: ['--node-name', 'No_Name'],
      problem: /cannot be the name of a Node/,
    },
    {
      name: 'a flag that the API server has not',
      words: ['--kube-apiserver-flag', 'audit=on'],
      problem: /--kube-apiserver-flag: unknown flag: --audit\./,
    },
    {
      name: 'a runtime of one´s own that is to be simulated',
      words: ['--container-runtime-endpoint', '/run/x.sock'],
      problem: /exclude one another/,
    },
  ])
    it(name, () => refused([...up(), ...words, '--data-dir', join(cluster.folder, 'options')], problem, /--|Give/));

  it('data of a newer version', () => {
    const folder = join(cluster.folder, 'newer');
    mkdirSync(folder);
    writeFileSync(join(folder, 'format'), '99\n');
    refused(up('--data-dir', folder), /has format 99; this Coracle knows formats up to 1/, /newer Coracle/);
  });

  it('a folder that is somebody else´s', () => {
    const folder = join(cluster.folder, 'thesis');
    mkdirSync(folder);
    writeFileSync(join(folder, 'thesis.tex'), '');
    refused(up('--data-dir', folder), /was not made by Coracle/, /--data-dir/);
    refused(['down', '--purge', '--data-dir', folder], /was not made by Coracle; nothing was touched/, /--data-dir/);
    assert.ok(existsSync(join(folder, 'thesis.tex')));
  });

  it('images on a simulated node, and without a node', () => {
    refused(['image', 'ls', '--data-dir', join(cluster.folder, 'none')], /no node has been started/, /coracle up/);
  });

  it('a folder where an archive of images is asked for, and says how to make one of it', () => {
    const folder = join(cluster.folder, 'image');
    const load = ['image', 'load', folder, '--data-dir', cluster.data];
    refused(load, /there is no file .*image\./, /path of an archive/);
    mkdirSync(folder);
    refused(load, /image is a folder, not an archive\./, /docker save/);
    writeFileSync(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
    refused(load, /is a folder/, /OCI image layout: tar -C .*image -cf - \. \| coracle image load -$/);
  });

  it('nothing for want of kubectl, but says where to get it', () => {
    const folder = join(cluster.folder, 'without-kubectl');
    const { status, stdout, stderr } = coracle(up('--data-dir', folder), { env: { PATH: barePath() } });
    const down = coracle(['down', '--purge', '--data-dir', folder]);
    assert.equal(status, 0, stderr);
    assert.match(stdout, /! kubectl is not on this machine: .*https:\/\/kubernetes\.io\/docs\/tasks\/tools\/$/m);
    assert.equal(down.status, 0, down.stderr);
  });

  it('unknown verbs and options, with the usage', () => {
    const verb = coracle(['launch']);
    assert.equal(verb.status, 1);
    assert.match(verb.stderr, /unknown command 'launch'/);
    assert.match(coracle(['up', '--fast']).stderr, /unknown option '--fast'/);
    assert.match(coracle(['up', '--runtime', 'docker']).stderr, /Allowed choices are containerd, simulated/);
  });

  describe('root', needs('root'), () => {
    it('to start without what is not installed when nothing may be, and names it', () => {
      const folder = join(cluster.folder, 'bare');
      const { status, stderr } = coracle(['up', '--no-install', '--listen', cluster.listen, '--data-dir', folder], {
        env: { PATH: barePath() },
      });
      assert.equal(status, 1);
      assert.match(stderr, /^coracle: missing on this machine: containerd.*, and --no-install was given\.\n/);
      assert.match(stderr, /apt-get install containerd.*, or use --runtime simulated\.\n$/);
    });

    it('a runtime that does not answer, and ends what it had started', () => {
      const folder = join(cluster.folder, 'silent');
      const words = ['--container-runtime-endpoint', '/run/nobody-listens.sock', '--listen', cluster.listen];
      refused(
        ['up', '--detach', '--data-dir', folder, ...words],
        /no container runtime answers at unix:\/\/\/run\/nobody-listens\.sock/,
        /--runtime simulated/,
      );
      assert.equal(coracle(['status', '--data-dir', folder]).status, 1);
      assert.ok(!existsSync(join(folder, 'run', 'node.pid')));
    });
  });

  describe('an ordinary user', needs('root'), () => {
    let home: string;
    const asNobody = () => ({ uid: nobody, env: { HOME: home, XDG_DATA_HOME: '', XDG_CACHE_HOME: '' } });
    before(() => {
      home = mkdtempSync(join(tmpdir(), 'coracle-home-'));
      chownSync(home, nobody, nobody);
    });
    after(() => rmSync(home, { recursive: true, force: true }));

    it('real containers, and offers the simulated runtime', () => {
      refused(['up', '--detach'], /a node that runs containers needs root/, /--runtime simulated/, asNobody());
    });

    it('a data directory that he cannot write', () => {
      const folder = mkdtempSync(join(tmpdir(), 'coracle-closed-'));
      chmodSync(folder, 0o755);
      refused(up('--data-dir', folder), /cannot be written \(EACCES\)/, /--data-dir/, asNobody());
      rmSync(folder, { recursive: true });
    });

    it('nothing when the runtime is simulated', () => {
      const { status, stdout, stderr } = coracle(up(), asNobody());
      const running = coracle(['status'], asNobody());
      const down = coracle(['down', '--purge'], asNobody());
      assert.equal(status, 0, stderr);
      assert.ok(stdout.includes(`${home}/.local/share/coracle/kubeconfig`), stdout);
      assert.equal(running.status, 0, running.stderr);
      assert.equal(down.status, 0, down.stderr);
      assert.ok(!existsSync(join(home, '.local/share/coracle')));
    });
  });
});
