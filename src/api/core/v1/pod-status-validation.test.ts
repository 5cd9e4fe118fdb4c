import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { updateErrorsOf } from '../../given.fixture.ts';
import { podBehaviour } from './pod.ts';

const container = {
  name: 'app',
  image: 'app',
  resources: { requests: { 'example.com/gpu': '1' }, claims: [{ name: 'c' }, { name: 'd', request: 'r' }] },
};
const spec = { containers: [container], resourceClaims: [{ name: 'c', resourceClaimName: 'claim' }] };
const errors = (status: object, more: object = {}) =>
  updateErrorsOf(podBehaviour, { spec: { ...spec, ...more } }, { spec: { ...spec, ...more }, status }, 'status');
const told = (name: string, more: object) => ({
  name,
  image: 'app',
  imageID: '',
  ready: true,
  restartCount: 0,
  ...more,
});

describe('the status of a Pod', () => {
  it('maps requests for extended resources to its claim', () => {
    const at = 'status.extendedResourceClaimStatus';
    const mapping = { containerName: 'app', resourceName: 'example.com/gpu', requestName: 'r' };
    const good = { resourceClaimName: 'x', requestMappings: [mapping] };
    assert.deepEqual(errors({ extendedResourceClaimStatus: good }), []);
    assert.deepEqual(errors({ extendedResourceClaimStatus: {} }), [
      `${at}.requestMappings: Required value: at least one request mapping is required`,
      `${at}.resourceClaimName: Required value`,
    ]);
    const bad = [mapping, mapping, { ...mapping, resourceName: 'cpu' }, { ...mapping, containerName: 'other' }];
    assert.deepEqual(errors({ extendedResourceClaimStatus: { ...good, requestMappings: bad } }), [
      `${at}.requestMappings[1].containerName: Duplicate value: "app"`,
      `${at}.requestMappings[1].resourceName: Duplicate value: "example.com/gpu"`,
      `${at}.requestMappings[1].requestName: Duplicate value: "r"`,
      `${at}.requestMappings[2].resourceName: Invalid value: "cpu": must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests`,
      `${at}.requestMappings[3].containerName: Invalid value: "other": must match the name of an entry in spec.initContainers.name or spec.containers.name`,
    ]);
  });

  it("counts the node's own resources by claims that the Pod has", () => {
    const at = 'status.nodeAllocatableResourceClaimStatuses[0]';
    const good = { resourceClaimName: 'claim', containers: ['app'], resources: { cpu: '1' } };
    assert.deepEqual(errors({ nodeAllocatableResourceClaimStatuses: [good] }), []);
    const bad = { resources: { 'example.com/gpu': '-1' } };
    assert.deepEqual(errors({ nodeAllocatableResourceClaimStatuses: [bad] }), [
      `${at}.resourceClaimName: Required value: must not be empty`,
      `${at}.resourceClaimName: Invalid value: "": no mapping found in pod reference`,
      `${at}.containers: Required value: must not be empty`,
      `${at}.resources[example.com/gpu]: Invalid value: "example.com/gpu": must be a node allocatable resource name`,
      `${at}.resources[example.com/gpu]: Invalid value: "-1": must be non-negative`,
    ]);
  });

  it('tells whom containers run as, where its system has such users', () => {
    const containerStatuses = [told('app', { user: { linux: { uid: -1, gid: 0, supplementalGroups: [2 ** 31] } } })];
    const range = 'must be between 0 and 2147483647, inclusive';
    const at = 'status.containerStatuses[0].user.linux';
    assert.deepEqual(errors({ containerStatuses }), [
      `${at}.uid: Invalid value: -1: ${range}`,
      `${at}.supplementalGroups[0]: Invalid value: 2147483648: ${range}`,
    ]);
    assert.deepEqual(errors({ containerStatuses }, { os: { name: 'windows' } }), [
      `${at}: Forbidden: cannot be set for a windows pod`,
    ]);
  });

  it('tells how the devices of containers fare', () => {
    const resources = [{ resourceID: 'a', health: 'Healthy' }];
    const good = ['example.com/gpu', 'claim:c', 'claim:d/r'].map((name) => ({ name, resources }));
    assert.deepEqual(errors({ containerStatuses: [told('app', { allocatedResourcesStatus: good })] }), []);
    const unknown = [told('gone', { allocatedResourcesStatus: [{ name: 'x', resources }] })];
    assert.deepEqual(errors({ containerStatuses: unknown }), [], 'a container that is not there is no mistake');
    const bad = [
      { name: 'cpu', resources: [...resources, { resourceID: 'a', health: 'Ill', message: '' }] },
      { name: 'claim:d', resources: [{ ...resources[0], message: 'x'.repeat(1025) }] },
    ];
    const at = 'status.containerStatuses[0].allocatedResourcesStatus';
    const statuses = { containerStatuses: [told('app', { allocatedResourcesStatus: bad })] };
    assert.deepEqual(
      errors({ ...statuses, ephemeralContainerStatuses: [told('app', { allocatedResourcesStatus: good })] }),
      [
        `${at}[0].name: Invalid value: "cpu": must match one of the container's resource requests`,
        `${at}[0].resources[1].health: Unsupported value: "Ill": supported values: "Healthy", "Unhealthy", "Unknown"`,
        `${at}[0].resources[1].message: Required value: must be non-empty if specified`,
        `${at}[0].resources[1].resourceID: Duplicate value: "a"`,
        `${at}[1].name: Invalid value: "claim:d": must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty`,
        `${at}[1].resources[0].message: Too long: may not be more than 1024 bytes`,
        'status.ephemeralContainerStatuses[0].allocatedResourcesStatus: Forbidden: must not be specified in container status',
      ],
    );
  });
});
