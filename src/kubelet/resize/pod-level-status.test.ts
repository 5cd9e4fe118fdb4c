/** What a Pod's status tells of the Pod as a whole. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container, Pod, PodSpec } from '../../api/gen/core-v1.ts';
import { podCgroupLimits } from '../containers/resources.ts';
import { podLevelStatus } from './pod-level-status.ts';

const settings = { cpuCfsQuota: true, cpuCfsQuotaPeriodMs: 100, memoryCapacityBytes: 2 ** 33 };

const container = (name: string, resources: Container['resources']): Container => ({ name, resources });
const pod = (spec: PodSpec, phase: 'Pending' | 'Running'): Pod => ({ metadata: { uid: 'u' }, spec, status: { phase } });
const told = (of: Pod, actuated = of) => podLevelStatus(of, { actuated, limits: podCgroupLimits(actuated, settings) });

const two = {
  containers: [
    container('a', { requests: { cpu: '100m', memory: '64Mi' } }),
    container('b', { requests: { cpu: '200m' }, limits: { cpu: '500m' } }),
  ],
};

describe('the status of a Pod as a whole', () => {
  it('tells what it was given until it runs, and then what its group has', () => {
    const requests = { cpu: '300m', memory: '64Mi' };
    assert.deepEqual(told(pod(two, 'Pending')), {
      allocatedResources: requests,
      resources: { limits: { cpu: '500m' }, requests },
    });
    // No limit of the Pod, for not all containers have one.
    assert.deepEqual(told(pod(two, 'Running')), { allocatedResources: requests, resources: { requests } });
  });

  it('counts what the Pod asks for as a whole in place of its containers, and what the sandbox takes', () => {
    const whole = { ...two, resources: { requests: { cpu: '1' }, limits: { cpu: '2', memory: '1Gi' } } };
    assert.deepEqual(told(pod({ ...whole, overhead: { cpu: '250m', memory: '16Mi' } }, 'Running')), {
      allocatedResources: { cpu: '1250m', memory: '80Mi' },
      resources: {
        limits: { cpu: '2250m', memory: '1040Mi' },
        requests: { cpu: '1250m', memory: '80Mi' },
      },
    });
  });

  it('tells what it runs with while it was given something else', () => {
    const asking = (cpu: string) => ({ containers: two.containers, resources: { requests: { cpu }, limits: { cpu } } });
    const status = told(pod(asking('2'), 'Running'), pod(asking('1'), 'Running'));
    assert.deepEqual(
      [status.allocatedResources?.cpu, status.resources?.requests?.cpu, status.resources?.limits?.cpu],
      ['2', '1', '1'],
    );
  });

  it('is empty where nothing is asked for, and as asked where the kubelet makes no groups', () => {
    const nothing = { containers: [container('a', {})] };
    assert.deepEqual(told(pod(nothing, 'Running')), { resources: {} });
    const without = podLevelStatus(pod(two, 'Running'), { actuated: pod(two, 'Running'), limits: undefined });
    assert.deepEqual(without.resources, { requests: { memory: '64Mi' } });
  });
});
