/** What aggregation is given, from the list of our own APIs to the servers behind. */
import type { Dial } from '../../serving/dial.ts';
import type { RemoteApis } from '../remote-apis.ts';
import type { ServedResources } from '../resources.ts';
import type { ProxyCredentials } from './remote-server.ts';
import type { ServiceRouting } from './service-location.ts';

export interface AggregationOptions {
  readonly resources: ServedResources;
  /** Called once, when the first remote APIService is seen. */
  useRemoteApis(apis: RemoteApis): void;
  /** Default `cluster`. */
  readonly routing?: ServiceRouting | undefined;
  readonly credentials?: ProxyCredentials | undefined;
  /** Default true. */
  readonly rejectRedirects?: boolean | undefined;
  /** Default: TCP, 30 seconds. */
  readonly dial?: Dial | undefined;
}
