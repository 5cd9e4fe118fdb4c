/** The kubelet's configuration from a file and a folder of further ones. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { kubeletFlags } from '../../../kubelet/options.ts';
import { parseFlags } from '../../../serving/flags.ts';
import { GivenFlags } from '../flags/given-flags.ts';
import { kubeletConfiguration } from './configuration.ts';

describe('files of configuration', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coracle-kubelet-'));
  after(() => rmSync(folder, { recursive: true }));
  const head = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
  const write = (name: string, fields: object) => {
    const path = join(folder, name);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, JSON.stringify({ ...head, ...fields }));
    return path;
  };
  const read = (...words: string[]) =>
    kubeletConfiguration(new GivenFlags(parseFlags(kubeletFlags, words))).configuration;

  it('change one another in the order of their names; objects are joined, lists replaced, and flags win', () => {
    const base = write('base.yaml', {
      maxPods: 10,
      kubeReserved: { cpu: '1', memory: '1Gi' },
      clusterDNS: ['10.0.0.1'],
    });
    write('more/20-second.conf', { maxPods: 30, clusterDNS: ['10.0.0.3'] });
    write('more/10-first.conf', { maxPods: 20, podPidsLimit: 7, kubeReserved: { cpu: '2' } });
    write('more/ignored.yaml', { maxPods: 99 });
    const more = `--config-dir=${join(folder, 'more')}`;
    const { maxPods, podPidsLimit, kubeReserved, clusterDns } = read(`--config=${base}`, more);
    assert.deepEqual(
      [maxPods, podPidsLimit, kubeReserved, clusterDns],
      [30, 7, { cpu: '2', memory: '1Gi' }, ['10.0.0.3']],
    );
    assert.equal(read(`--config=${base}`, more, '--max-pods=40').maxPods, 40);
    assert.equal(read(more).maxPods, 30, 'without a file before them');
  });

  it('that are wrong are named, with what is wrong in them', () => {
    const wrong = `--config-dir=${join(folder, 'wrong')}`;
    const path = write('wrong/10.conf', { maxPod: 1 });
    assert.throws(
      () => read(wrong),
      new RegExp(`failed to load Kubelet config file ${path}: .*unknown field "maxPod"`),
    );
    writeFileSync(path, JSON.stringify({ kind: 'Pod' }));
    assert.throws(() => read(wrong), /drop-in directory .* is no KubeletConfiguration/);
    assert.throws(() => read('--config-dir=/nowhere'), /--config-dir \/nowhere cannot be read \(ENOENT\)/);
    const threshold = write('threshold.yaml', { evictionHard: { 'memory.free': '1Gi' } });
    assert.throws(() => read(`--config=${threshold}`), /unsupported eviction signal memory.free/);
  });
});
