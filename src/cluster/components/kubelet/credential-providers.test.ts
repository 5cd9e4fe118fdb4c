/** Credential providers as the kubelet's flags name them, with real programs. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { systemClock } from '../../../base/clock.ts';
import { silentLog } from '../../../base/log.ts';
import { systemRandom } from '../../../base/random.ts';
import { kubeletFlags, kubeletSettings } from '../../../kubelet/options.ts';
import { parseFlags } from '../../../serving/flags.ts';
import { thisMachine } from '../../machine/machine.ts';
import { credentialProviders } from './credential-providers.ts';

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
const entry = { name: 'helper', apiVersion, matchImages: ['registry.test'], defaultCacheDuration: '1m' };

function folders(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-providers-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const program = (name: string, script: string, mode = 0o755) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, name), mode);
  };
  const configuration = (name: string, providers: readonly object[], version = 'v1') => {
    const path = join(folder, name);
    mkdirSync(join(path, '..'), { recursive: true });
    const head = { apiVersion: `kubelet.config.k8s.io/${version}`, kind: 'CredentialProviderConfig' };
    writeFileSync(path, JSON.stringify({ ...head, providers }));
    return path;
  };
  return { folder, bin, program, configuration };
}

function read(config: string, bin: string) {
  const flags = [`--image-credential-provider-config=${config}`, `--image-credential-provider-bin-dir=${bin}`];
  return credentialProviders(kubeletSettings(parseFlags(kubeletFlags, flags)), {
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    machine: thisMachine(),
    signal: new AbortController().signal,
    started: () => {},
  });
}

it('runs a program with its arguments, its environment and the request, and reads what it prints', async (t) => {
  const { bin, program, configuration } = folders(t);
  program('helper', 'echo "$1 $COLOUR $(test -n "$HOME" && echo home) $(cat)"');
  const env = [{ name: 'COLOUR', value: 'blue' }];
  const found = read(configuration('config.json', [{ ...entry, args: ['get'], env }], 'v1beta1'), bin);
  assert.equal(await found?.run(found.providers[0]!, 'the request'), 'get blue home the request\n');
});

it('tells the hash of its files as they are, each with its length', (t) => {
  const { bin, program, configuration } = folders(t);
  program('helper', 'true');
  const path = configuration('config.json', [entry]);
  const text = readFileSync(path);
  const length = Buffer.from(text.length.toString(16).padStart(16, '0'), 'hex');
  const expected = createHash('sha256').update(length).update(text).digest('hex');
  assert.equal(read(path, bin)?.configHash, `sha256:${expected}`);
});

it('tells how a program ended, with what it complained about', async (t) => {
  const { bin, program, configuration } = folders(t);
  program('helper', 'echo no such luck >&2; exit 3');
  const found = read(configuration('config.yaml', [entry]), bin);
  await assert.rejects(found!.run(found!.providers[0]!, ''), { message: 'exit status 3: no such luck\n' });
});

it('joins the files of a folder in the order of their names', (t) => {
  const { folder, bin, program, configuration } = folders(t);
  for (const name of ['a', 'b', 'c']) program(name, 'true');
  configuration('more/20.yaml', [{ ...entry, name: 'c' }]);
  configuration('more/10.json', [
    { ...entry, name: 'b' },
    { ...entry, name: 'a' },
  ]);
  configuration('more/ignored.conf', [{ ...entry, name: 'd' }]);
  const found = read(join(folder, 'more'), bin);
  assert.deepEqual(
    found?.providers.map(({ name }) => name),
    ['b', 'a', 'c'],
  );
});

it('is an error where something is missing or wrong, and nothing where neither flag is given', (t) => {
  const { folder, bin, program, configuration } = folders(t);
  program('plain', 'true', 0o644);
  const register = 'failed to register CRI auth plugins: ';
  const cases = [
    [join(folder, 'none'), bin, `unable to access path "${folder}/none": no such file or directory`],
    [folder, bin, `no configuration files found in directory "${folder}"`],
    [
      configuration('ok/a.json', [entry]),
      join(folder, 'nowhere'),
      `plugin binary directory ${folder}/nowhere did not exist`,
    ],
    [configuration('ok/a.json', [entry]), bin, `plugin binary executable ${bin}/helper did not exist`],
    [
      configuration('ok/b.json', [{ ...entry, name: 'plain' }]),
      bin,
      `error inspecting binary executable ${bin}/plain: exec: "${bin}/plain": permission denied`,
    ],
    [
      configuration('ok/c.json', [entry, entry]),
      bin,
      'duplicate provider name "helper" found in configuration file(s)',
    ],
    [
      configuration('ok/d.json', [{ ...entry, apiVersion: '' }]),
      bin,
      'failed to validate credential provider config: providers.apiVersion: Required value',
    ],
  ] as const;
  for (const [config, directory, message] of cases)
    assert.throws(() => read(config, directory), { message: register + message });
  assert.throws(
    () => read(configuration('ok/e.json', [{ ...entry, colour: 1 }]), bin),
    /unknown field "providers\[0\].colour"/,
  );
  assert.equal(read('', ''), undefined);
});
