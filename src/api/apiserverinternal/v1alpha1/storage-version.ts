/** StorageVersions: in what version each server writes a resource. */
import { ageColumn, nameColumn, text, withMore } from '../../columns.ts';
import { partOf } from '../../defaulting.ts';
import { type StorageVersion, storageVersions } from '../../gen/apiserverinternal-v1alpha1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { statusKeepsMetadata } from '../../strategy.ts';
import { validateStorageVersion, validateStorageVersionName } from './storage-version-validation.ts';

const mostShown = 3;

export const storageVersionBehaviour: KindBehaviour<StorageVersion> = {
  resource: storageVersions,
  allowUnconditionalUpdate: false,
  countsGeneration: false,
  defaults(version) {
    partOf(version, 'spec');
  },
  validateName: validateStorageVersionName,
  validate: validateStorageVersion,
  validateUpdate: () => [],
  subresources: { status: { ...statusKeepsMetadata, validateUpdate: validateStorageVersion } },
  columns: [
    nameColumn,
    text('CommonEncodingVersion', ({ status }) => status?.commonEncodingVersion ?? '<unset>'),
    text('StorageVersions', ({ status }) => {
      const servers = (status?.storageVersions ?? []).map((one) => `${one.apiServerID}=${one.encodingVersion}`);
      return servers.length === 0 ? '<unset>' : withMore(servers, mostShown);
    }),
    ageColumn,
  ],
};
