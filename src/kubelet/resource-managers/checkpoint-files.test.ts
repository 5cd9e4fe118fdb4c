/** Checkpoint files of processors and memory: the checksums are those that upstream's kubelet has for the same data. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  formatCpuCheckpoint,
  formatMemoryCheckpoint,
  parseCpuCheckpoint,
  parseMemoryCheckpoint,
} from './checkpoint-files.ts';

const memory = {
  policyName: 'static',
  machineState: {
    0: {
      numberOfAssignments: 0,
      memoryMap: { memory: { total: 2048, systemReserved: 512, allocatable: 1536, reserved: 512, free: 1024 } },
      cells: [],
    },
  },
  entries: { pod: { container1: [{ numaAffinity: [0], type: 'memory', size: 512 }] } },
};

describe('a checkpoint', () => {
  it('of processors is what upstream writes', () => {
    const empty = { policyName: 'none', defaultCpuSet: '4-6', entries: {} };
    assert.equal(formatCpuCheckpoint(empty), '{"policyName":"none","defaultCpuSet":"4-6","checksum":354655845}');
    const entries = { pod: { container2: '1-3', container1: '4-6' } };
    const full = { policyName: 'none', defaultCpuSet: '1-3', entries };
    assert.equal(JSON.parse(formatCpuCheckpoint(full)).checksum, 3_610_638_499);
    for (const checkpoint of [empty, full])
      assert.deepEqual(parseCpuCheckpoint(formatCpuCheckpoint(checkpoint)), checkpoint);
  });

  it('of memory is what upstream writes', () => {
    const text = formatMemoryCheckpoint(memory);
    assert.equal(JSON.parse(text).checksum, 4_215_593_881);
    assert.deepEqual(parseMemoryCheckpoint(text), memory);
  });

  it('that somebody has changed is refused, one of an older kubelet without a checksum is not', () => {
    const text = formatCpuCheckpoint({ policyName: 'static', defaultCpuSet: '0-3', entries: { a: { main: '4' } } });
    assert.throws(() => parseCpuCheckpoint(text.replace('0-3', '0-2')), { message: 'checkpoint is corrupted' });
    const older = '{"policyName":"static","defaultCpuSet":"0-3"}';
    assert.deepEqual(parseCpuCheckpoint(older), { policyName: 'static', defaultCpuSet: '0-3', entries: {} });
    assert.throws(() => parseMemoryCheckpoint(formatMemoryCheckpoint(memory).replace('2048', '4096')), {
      message: 'checkpoint is corrupted',
    });
  });
});
