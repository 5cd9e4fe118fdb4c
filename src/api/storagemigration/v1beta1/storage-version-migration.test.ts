import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorsOf, now, updateErrorsOf } from '../../given.fixture.ts';
import { storageVersionMigrationBehaviour as migration } from './storage-version-migration.ts';

const spec = { resource: { group: 'apps', resource: 'deployments' } };
const condition = (type: string, status = 'True') => ({ type, status, reason: 'R', lastTransitionTime: now });

describe('a StorageVersionMigration', () => {
  it('names one resource', () => {
    assert.deepEqual(errorsOf(migration, { spec }), []);
    assert.deepEqual(errorsOf(migration, {}), [
      'spec.resource.resource: Required value: resource is required to be set',
    ]);
    const found = errorsOf(migration, { spec: { resource: { group: 'Apps', resource: '1a' } } });
    assert.deepEqual(
      found.map((error) => error.split(':').slice(0, 3).join(':')),
      ['spec.resource.resource: Invalid value: "1a"', 'spec.resource.group: Invalid value: "Apps"'],
    );
  });

  it('names it once and for all', () => {
    const errors = updateErrorsOf(migration, { spec }, { spec: { resource: { resource: 'secrets' } } });
    assert.match(errors.join(), /^spec: Invalid value: .*: field is immutable$/);
  });

  const statusErrors = (previous: object, next: object) =>
    updateErrorsOf(migration, { spec, status: previous }, { spec, status: next }, 'status').map((error) =>
      error.replace(/Invalid value: \[.*\]/, 'Invalid value: [...]'),
    );

  it('is told once how far it came', () => {
    assert.deepEqual(statusErrors({}, { resourceVersion: '12' }), []);
    assert.deepEqual(statusErrors({ resourceVersion: '12' }, { resourceVersion: '012' }), [
      'status.resourceVersion: Invalid value: "012": resource version is not well formed: 012',
      'status.resourceVersion: Invalid value: "012": field is immutable',
    ]);
  });

  it('ends in one way, for good', () => {
    const ended = { conditions: [condition('Succeeded')] };
    assert.deepEqual(statusErrors(ended, ended), []);
    assert.deepEqual(statusErrors({}, { conditions: [condition('Succeeded'), condition('Failed')] }), [
      'status.conditions: Invalid value: [...]: Both success and failed conditions cannot be true at the same time',
    ]);
    assert.deepEqual(statusErrors(ended, { conditions: [condition('Succeeded', 'False')] }), [
      'status.conditions: Invalid value: [...]: Success condition cannot be set to false once it is true',
    ]);
    assert.deepEqual(statusErrors({ conditions: [condition('Failed')] }, {}), [
      'status.conditions: Invalid value: [...]: Failed condition cannot be set to false once it is true',
    ]);
  });
});
