/** ResourcePoolStatusRequests: a question about a driver's pools, answered once in the status. */
import { path } from '../../../apimachinery/field-error.ts';
import { integer, nameColumn, text } from '../../columns.ts';
import { fillAbsent, partOf } from '../../defaulting.ts';
import {
  type PoolStatus,
  type ResourcePoolStatusRequest,
  resourcePoolStatusRequests,
} from '../../gen/resource-v1alpha3.ts';
import { age } from '../../human-duration.ts';
import type { Column, KindBehaviour } from '../../kind.ts';
import { statusKeepsMetadata } from '../../strategy.ts';
import { validateImmutable } from '../../validation.ts';

export const resourcePoolStatusRequestBehaviour: KindBehaviour<ResourcePoolStatusRequest> = {
  resource: resourcePoolStatusRequests,
  allowUnconditionalUpdate: false,
  countsGeneration: false,
  defaults(request) {
    fillAbsent(partOf(request, 'spec'), 'limit', 100);
  },
  validateUpdate: ({ spec }, previous) => validateImmutable(path('spec'), spec, previous.spec),
  subresources: { status: statusKeepsMetadata },
  columns: [
    nameColumn,
    text('Driver', ({ spec }) => spec.driver, { description: 'The driver to query pools for.' }),
    sumColumn('Total', 'Total number of devices across all pools.', ({ totalDevices }) => totalDevices ?? 0),
    sumColumn('Available', 'Number of available devices across all pools.', (pool) => pool.availableDevices ?? 0),
    sumColumn('Allocated', 'Number of allocated devices across all pools.', (pool) => pool.allocatedDevices ?? 0),
    sumColumn('Unavailable', 'Number of unavailable devices across all pools.', (pool) => pool.unavailableDevices ?? 0),
    sumColumn('Errors', 'Number of pools with validation errors.', (pool) => (pool.validationError == null ? 0 : 1)),
    integer('Pools', ({ status }) => status?.poolCount ?? 0, { description: 'Total number of matching pools.' }),
    text('Status', statusText, { description: 'Processing status.' }),
    text(
      'Completed',
      (request, nowMs) => {
        const verdict = verdictOf(request);
        return verdict?.type === 'Complete' ? age(verdict.lastTransitionTime, nowMs) : '<none>';
      },
      { description: 'Time since the observation completed.' },
    ),
  ],
};

function verdictOf({ status }: ResourcePoolStatusRequest) {
  return status?.conditions?.find(
    ({ type, status: value }) => value === 'True' && (type === 'Complete' || type === 'Failed'),
  );
}

function statusText(request: ResourcePoolStatusRequest): string {
  const verdict = verdictOf(request)?.type;
  if (verdict !== 'Complete') return verdict ?? 'Pending';
  const { poolCount = 0, pools = [] } = request.status ?? {};
  return poolCount > pools.length ? `Complete (${pools.length}/${poolCount} pools)` : verdict;
}

/** Nothing is known before there is a status, nor of a failure. */
function sumColumn(
  name: string,
  description: string,
  count: (pool: PoolStatus) => number,
): Column<ResourcePoolStatusRequest> {
  const cell = (request: ResourcePoolStatusRequest) => {
    if (!request.status || verdictOf(request)?.type === 'Failed') return '-';
    return String((request.status.pools ?? []).reduce((sum, pool) => sum + count(pool), 0));
  };
  return text(name, cell, { description });
}
