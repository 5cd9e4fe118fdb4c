/** Types of storage/v1beta1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export interface VolumeAttributesClass {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly driverName: string;
  readonly parameters?: Readonly<Record<string, string>> | undefined;
}

export interface VolumeAttributesClassList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly VolumeAttributesClass[];
}

export const volumeAttributesClasses: ResourceType<VolumeAttributesClass> = {
  group: 'storage.k8s.io',
  version: 'v1beta1',
  resource: 'volumeattributesclasses',
  kind: 'VolumeAttributesClass',
  namespaced: false,
  singular: 'volumeattributesclass',
  shortNames: ['vac'],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [],
};
