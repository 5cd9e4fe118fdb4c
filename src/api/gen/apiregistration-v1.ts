/** Types of apiregistration/v1. Derived from facts/ by scripts/generate-api.ts: change the facts, not this file. */
import type { ResourceType } from '../../apimachinery/resource.ts';
import type * as metaV1 from '../../apimachinery/gen/meta-v1.ts';

export interface APIService {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ObjectMeta;
  readonly spec: APIServiceSpec;
  readonly status?: APIServiceStatus | undefined;
}

export interface APIServiceCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface APIServiceList {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata: metaV1.ListMeta;
  readonly items: readonly APIService[];
}

export interface APIServiceSpec {
  readonly service?: ServiceReference | undefined;
  readonly group?: string | undefined;
  readonly version?: string | undefined;
  readonly insecureSkipTLSVerify?: boolean | undefined;
  readonly caBundle?: string | undefined;
  readonly groupPriorityMinimum: number;
  readonly versionPriority: number;
}

export interface APIServiceStatus {
  readonly conditions?: readonly APIServiceCondition[] | undefined;
}

export interface ServiceReference {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly port?: number | undefined;
}

export const apiServices: ResourceType<APIService> = {
  group: 'apiregistration.k8s.io',
  version: 'v1',
  resource: 'apiservices',
  kind: 'APIService',
  namespaced: false,
  singular: 'apiservice',
  shortNames: [],
  categories: ['api-extensions'],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['status'],
};
