import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FlagError, parseFlags } from '../serving/flags.ts';
import { kubeletFlags, kubeletSettings } from './options.ts';

const settings = (words: readonly string[], file?: object) => kubeletSettings(parseFlags(kubeletFlags, words), file);

test('numbers that lead nowhere are refused, all of them at once', () => {
  assert.throws(
    () => settings(['--port=99999', '--max-pods=-1']),
    new FlagError(
      'failed to validate kubelet configuration, error: [invalid configuration: maxPods (--max-pods) -1 must not be a negative number, invalid configuration: port (--port) 99999 must be between 1 and 65535, inclusive]',
    ),
  );
  const file = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
  assert.throws(
    () => settings([], { ...file, imageGCLowThresholdPercent: 90, imageGCHighThresholdPercent: 80 }),
    /imageGCLowThresholdPercent \(--image-gc-low-threshold\) 90 must be less than imageGCHighThresholdPercent \(--image-gc-high-threshold\) 80$/,
  );
});

test('what upstream starts with is fine, a health page turned off too', () => {
  assert.equal(settings([]).server.port, 10_250);
  assert.equal(settings(['--healthz-port=0']).server.healthzPort, 0);
});
