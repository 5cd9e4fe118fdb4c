/**
 * The images that upstream's conformance tests run, under upstream's names, made of what `build.sh` has built: one archive in Docker's form, whose
 * images share layers. They do what the tests ask of them and are not upstream's bytes.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

interface LayerFile {
  /** Of a built program; one of these three. */
  readonly program?: string;
  readonly text?: string;
  readonly link?: string;
  readonly mode?: number;
}

/** By path in the image. */
type LayerFiles = Readonly<Record<string, LayerFile>>;

interface Image {
  readonly names: readonly string[];
  readonly layers: readonly string[];
  readonly config: Readonly<Record<string, unknown>>;
}

const folders = ['etc', 'home', 'proc', 'root', 'run', 'sys', 'tmp', 'usr/bin', 'var'];
const system = 'system';

/** Besides `system`, a whole Debian. */
function layerFiles(busybox: string): Readonly<Record<string, LayerFiles>> {
  const applets = execFileSync(busybox, ['--list'], { encoding: 'utf8' }).split('\n');
  const links = applets.filter((name) => name !== '' && name !== 'busybox' && name !== 'sh');
  const page = (file: string, program: string) => ({
    [file]: { program },
    'data.json': { text: `{"image": "${file}"}` },
  });
  return {
    busybox: {
      'bin/busybox': { program: 'busybox', mode: 0o755 },
      // The shell of Debian's busybox drops variables whose names no shell could write, which upstream's keeps.
      'bin/sh': { program: 'bash-static', mode: 0o755 },
      'etc/passwd': { text: 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\n' },
      'etc/group': { text: 'root:x:0:\nnogroup:x:65534:\n' },
      ...Object.fromEntries(links.map((name) => [`bin/${name}`, { link: '/bin/busybox' }])),
    },
    agnhost: {
      agnhost: { program: 'agnhost', mode: 0o755 },
      'agnhost-2': { link: 'agnhost' },
      'uploads/.keep': { text: '' },
      'usr/bin/netstat': { link: '/usr/bin/busybox' },
      'usr/local/bin/iperf': { link: '/usr/bin/iperf' },
      'localhost.crt': { program: 'localhost.crt' },
      'localhost.key': { program: 'localhost.key' },
    },
    'consume-cpu': {
      consumer: { program: 'resource-consumer', mode: 0o755 },
      'consume-cpu': { program: 'consume-cpu', mode: 0o755 },
    },
    etcd: { 'usr/local/bin/etcd': { program: 'etcd', mode: 0o755 } },
    kitten: page('kitten.jpg', 'kitten.jpg'),
    nautilus: page('nautilus.jpg', 'nautilus.jpg'),
    nginx: {
      'etc/nginx/sites-enabled/default': { text: 'server { listen 80; listen [::]:80; root /srv; }\n' },
      'srv/index.html': { text: '<!doctype html><title>nginx</title>It works\n' },
    },
    nonewprivs: { 'usr/local/bin/nnp': { program: 'nonewprivs', mode: 0o4755 } },
    'regression-issue-74839': { 'regression-issue-74839': { program: 'regression-issue-74839', mode: 0o755 } },
    'sample-apiserver': { 'sample-apiserver': { program: 'sample-apiserver', mode: 0o755 } },
  };
}

const e2e = (name: string) => `registry.k8s.io/e2e-test-images/${name}`;
const agnhost = { Entrypoint: ['/agnhost'], Cmd: ['pause'] };
const web = { Entrypoint: ['/agnhost'], Cmd: ['test-webserver'] };

/** Names and versions as upstream's `test/utils/image/manifest.go` of the release has them. */
const images: readonly Image[] = [
  {
    names: [e2e('agnhost:2.63.0'), e2e('agnhost:2.55'), 'gcr.io/k8s-authenticated-test/agnhost:2.6'],
    layers: [system, 'agnhost'],
    config: agnhost,
  },
  { names: [e2e('busybox:1.37.0-1')], layers: ['busybox'], config: { Cmd: ['sh'] } },
  { names: [e2e('nonroot:1.5')], layers: [system, 'agnhost'], config: { ...agnhost, User: '1234' } },
  { names: [e2e('nonewprivs:1.4')], layers: [system, 'nonewprivs'], config: { Cmd: ['nnp'] } },
  {
    names: [e2e('nginx:1.15-4'), e2e('nginx:1.27-0')],
    layers: [system, 'nginx'],
    config: { Cmd: ['nginx', '-g', 'daemon off;'] },
  },
  { names: [e2e('kitten:1.8')], layers: [system, 'agnhost', 'kitten'], config: web },
  { names: [e2e('nautilus:1.8')], layers: [system, 'agnhost', 'nautilus'], config: web },
  { names: [e2e('perl:5.26')], layers: [system], config: { Cmd: ['perl'] } },
  { names: [e2e('glibc-dns-testing:2.0.0'), e2e('ipc-utils:1.4')], layers: [system], config: { Cmd: ['sh'] } },
  {
    names: [e2e('regression-issue-74839:1.4')],
    layers: [system, 'regression-issue-74839'],
    config: { Entrypoint: ['/regression-issue-74839'] },
  },
  {
    names: [e2e('sample-apiserver:1.29.2')],
    layers: [system, 'sample-apiserver'],
    config: { Entrypoint: ['/sample-apiserver'] },
  },
  { names: [e2e('resource-consumer:1.14')], layers: [system, 'consume-cpu'], config: { Entrypoint: ['/consumer'] } },
  {
    names: ['registry.k8s.io/etcd:3.6.8-0'],
    layers: [system, 'etcd'],
    config: { Entrypoint: ['/usr/local/bin/etcd'] },
  },
  {
    names: ['registry.k8s.io/pause:3.10.2'],
    layers: [system, 'agnhost'],
    config: { Entrypoint: ['/agnhost', 'pause'] },
  },
];

/** Writes `images.tar` beside what was built, and gives its path. */
export function writeImages(built: string): string {
  const work = mkdtempSync(join(tmpdir(), 'coracle-upstream-'));
  try {
    const programs = join(built, 'programs');
    const digests = new Map([[system, digestOf(join(built, 'system.tar'))]]);
    cpSync(join(built, 'system.tar'), join(work, 'system.tar'));
    for (const [name, files] of Object.entries(layerFiles(join(programs, 'busybox')))) {
      writeLayer(join(work, `${name}.tar`), { files, programs, folders: name === 'busybox' ? folders : [] });
      digests.set(name, digestOf(join(work, `${name}.tar`)));
    }
    const manifest = images.map(({ names, layers, config }) => {
      const text = JSON.stringify({
        architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
        os: 'linux',
        config: { Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'], ...config },
        rootfs: { type: 'layers', diff_ids: layers.map((layer) => `sha256:${digests.get(layer)}`) },
        history: [],
      });
      const file = `${createHash('sha256').update(text).digest('hex')}.json`;
      writeFileSync(join(work, file), text);
      return { Config: file, RepoTags: names, Layers: layers.map((layer) => `${layer}.tar`) };
    });
    writeFileSync(join(work, 'manifest.json'), JSON.stringify(manifest));
    const archive = join(built, 'images.tar');
    execFileSync('tar', ['-C', work, '-cf', archive, '.']);
    return archive;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function writeLayer(
  archive: string,
  {
    files,
    programs,
    folders,
  }: { readonly files: LayerFiles; readonly programs: string; readonly folders: readonly string[] },
): void {
  const root = mkdtempSync(join(tmpdir(), 'coracle-layer-'));
  chmodSync(root, 0o755);
  for (const folder of folders) mkdirSync(join(root, folder), { recursive: true });
  for (const [path, { program, text = '', link, mode = 0o644 }] of Object.entries(files)) {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    if (link !== undefined) {
      symlinkSync(link, file);
      continue;
    }
    if (program === undefined) writeFileSync(file, text);
    else cpSync(join(programs, program), file);
    chmodSync(file, mode);
  }
  if (folders.includes('tmp')) chmodSync(join(root, 'tmp'), 0o1777);
  execFileSync('tar', ['-C', root, '--owner=0', '--group=0', '-cf', archive, '.']);
  rmSync(root, { recursive: true, force: true });
}

const digestOf = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');
