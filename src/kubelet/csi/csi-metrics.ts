/** How long calls of CSI drivers took: upstream's histogram `csi_operations_seconds`. */
import { grpcCodeName } from '../../base/grpc/index.ts';
import type { HistogramSample } from '../../base/metrics/families.ts';
import { Timings } from '../../base/metrics/series.ts';

/** `method`: its whole path, `/csi.v1.Node/NodeStageVolume`; `code`: gRPC's number. */
export type CsiCallObserver = (driver: string, method: string, code: number, seconds: number) => void;

/** In seconds. */
const limits: readonly number[] = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

export class CsiCallMetrics {
  readonly #calls = new Timings(limits);

  readonly observe: CsiCallObserver = (driver, method, code, seconds) => {
    const status = grpcCodeName(code);
    const labels = { driver_name: driver, method_name: method, grpc_status_code: status, migrated: 'false' };
    this.#calls.addValue(labels, seconds);
  };

  calls(): readonly HistogramSample[] {
    return [...this.#calls.histogram()];
  }
}
