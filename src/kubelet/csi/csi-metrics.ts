/** How long calls of CSI drivers took: upstream's histogram `csi_operations_seconds`. */
import { grpcCodeName } from '../../base/grpc/index.ts';

/** `method`: its whole path, `/csi.v1.Node/NodeStageVolume`; `code`: gRPC's number. */
export type CsiCallObserver = (driver: string, method: string, code: number, seconds: number) => void;

export interface CsiCallFigures {
  readonly labels: Readonly<Record<string, string>>;
  /** Calls that took up to so many seconds, per bound of `csiCallBounds`. */
  readonly counts: readonly number[];
  readonly count: number;
  readonly sum: number;
}

export const csiCallBounds: readonly number[] = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

export class CsiCallMetrics {
  readonly #figures = new Map<
    string,
    { labels: Record<string, string>; counts: number[]; count: number; sum: number }
  >();

  readonly observe: CsiCallObserver = (driver, method, code, seconds) => {
    const status = grpcCodeName(code);
    const key = `${driver} ${method} ${status}`;
    let figures = this.#figures.get(key);
    if (!figures) {
      const labels = { driver_name: driver, method_name: method, grpc_status_code: status, migrated: 'false' };
      figures = { labels, counts: csiCallBounds.map(() => 0), count: 0, sum: 0 };
      this.#figures.set(key, figures);
    }
    for (const [index, bound] of csiCallBounds.entries()) if (seconds <= bound) figures.counts[index]! += 1;
    figures.count += 1;
    figures.sum += seconds;
  };

  figures(): readonly CsiCallFigures[] {
    return [...this.#figures.values()];
  }
}
