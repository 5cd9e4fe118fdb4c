/** What `/metrics` tells of etcd, under upstream's names: how long its answers take, which fail, how large its members' files are. */
import { resourceOfKey } from '../../../apiserver/encryption/resource-of-key.ts';
import { counterFamily, gaugeFamily, histogramFamily } from '../../../base/metrics/families.ts';
import { Counts, Timings } from '../../../base/metrics/series.ts';
import type { EtcdRequest } from '../../../storage/etcd/index.ts';
import { builtinPlaces } from '../../data/stored-resources.ts';

const limits = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
] as const;

export class EtcdMetrics {
  readonly #durations = new Timings(limits);
  readonly #errors = new Counts();
  readonly #sizes = new Counts();
  readonly #resourceOf = resourceOfKey(builtinPlaces());

  request({ operation, key, durationMs, failed }: EtcdRequest): void {
    const [resource = '', ...group] = (this.#resourceOf(key) ?? '').split('.');
    const labels = { group: group.join('.'), operation, resource };
    this.#durations.add(labels, durationMs);
    if (failed) this.#errors.add(labels);
  }

  /** Of one member's file; -1 when it does not answer. */
  size(endpoint: string, bytes: number): void {
    this.#sizes.set({ endpoint }, bytes);
  }

  families(): string {
    return [
      histogramFamily(
        'etcd_request_duration_seconds',
        'Etcd request latency in seconds for each operation and object type.',
        this.#durations.histogram(),
      ),
      counterFamily(
        'etcd_requests_total',
        'Etcd request counts for each operation and object type.',
        this.#durations.counts(),
      ),
      counterFamily(
        'etcd_request_errors_total',
        'Etcd failed request counts for each operation and object type.',
        this.#errors.samples(),
      ),
      gaugeFamily(
        'apiserver_storage_db_total_size_in_bytes',
        'Total size of the storage database file physically allocated in bytes.',
        this.#sizes.samples(),
      ),
    ].join('');
  }
}
