import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorsOf } from '../../given.fixture.ts';
import { storageVersionBehaviour } from './storage-version.ts';

const server = (encodingVersion: string, more: object = {}) => ({
  apiServerID: 'a',
  encodingVersion,
  decodableVersions: [encodingVersion],
  ...more,
});
const errors = (status: object) => errorsOf(storageVersionBehaviour, { status });

describe('a StorageVersion', () => {
  it('is named after a resource', () => {
    const name = (text: string) =>
      storageVersionBehaviour.validateName!(text, false).map((error) => error.slice(0, 30));
    assert.deepEqual(name('apps.deployments'), []);
    assert.deepEqual(name('pods'), ['name must be in the form of <g']);
    assert.deepEqual(name('Apps.1'), ['the group segment a lowercase ', 'the resource segment a DNS-103']);
  });

  it('tells what each server writes, which it must also read', () => {
    const good = [server('apps/v1', { servedVersions: ['apps/v1'] }), server('apps/v1', { apiServerID: 'b' })];
    assert.deepEqual(errors({ storageVersions: good, commonEncodingVersion: 'apps/v1' }), []);
    const bad = [server('v1', { decodableVersions: ['/v2'], servedVersions: ['v3'] }), server('a/b/c')];
    const at = 'status.storageVersions';
    assert.deepEqual(
      errors({ storageVersions: bad }).map((error) =>
        error.replace(/is a DNS-1035 .*abc-123.*\)'?\) with/, 'is a label with'),
      ),
      [
        `${at}[0].decodableVersions[0]: Invalid value: "/v2": group part: must be non-empty`,
        `${at}[0].decodableVersions: Invalid value: ["/v2"]: decodableVersions must include encodingVersion v1`,
        `${at}[0].servedVersions[0]: Invalid value: "v3": individual served version : v3 must be included in decodableVersions : [/v2]`,
        `${at}[1].apiServerID: Duplicate value: "a"`,
        ...['encodingVersion', 'decodableVersions[0]'].map(
          (field) =>
            `${at}[1].${field}: Invalid value: "a/b/c": an apiVersion is a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')`,
        ),
      ],
    );
  });

  it('tells a common version where there is one, and only there', () => {
    const common = 'status.commonEncodingVersion';
    const storageVersions = [server('v1')];
    assert.deepEqual(errors({ storageVersions }), [
      `${common}: Invalid value: null: the common encoding version is v1`,
    ]);
    assert.deepEqual(errors({ storageVersions, commonEncodingVersion: 'v2' }), [
      `${common}: Invalid value: "v2": the actual common encoding version is v1`,
    ]);
    assert.deepEqual(errors({ commonEncodingVersion: 'v1' }), [
      `${common}: Invalid value: "v1": should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet`,
    ]);
  });

  it('has each condition once, with a reason and a message', () => {
    const condition = { type: 'AllEncodingVersionsEqual', status: 'True', reason: 'R', message: 'm' };
    assert.deepEqual(errors({ conditions: [condition, { ...condition, reason: '', message: '' }] }), [
      'status[1].type: Invalid value: "AllEncodingVersionsEqual": the type of the condition is not unique, it also appears in conditions[0]',
      'status[1].reason: Required value',
      'status[1].message: Required value',
    ]);
  });
});
