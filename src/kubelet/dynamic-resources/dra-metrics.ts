/** What is counted and timed of claimed devices, under upstream's names. */
import { gaugeFamily, histogramFamily } from '../../base/metrics/families.ts';
import { exponentialLimits, Timings } from '../../base/metrics/series.ts';
import type { PreparedClaim } from './prepared-claims.ts';

/** Fifteen limits from 0.1 s to 40 s: calls of drivers end after 45 s. */
const limits = exponentialLimits(0.1, { factor: (40 / 0.1) ** (1 / 14), count: 15 });

export class DraMetrics {
  readonly #operations = new Timings(limits);
  readonly #calls = new Timings(limits);

  operation(name: 'PrepareResources' | 'UnprepareResources', isError: boolean, durationMs: number): void {
    this.#operations.add({ is_error: String(isError), operation_name: name }, durationMs);
  }

  /** `method`: its whole path; `code`: gRPC's name. */
  call(driver: string, { method, code }: { readonly method: string; readonly code: string }, durationMs: number): void {
    this.#calls.add({ driver_name: driver, grpc_status_code: code, method_name: method }, durationMs);
  }

  /** As text of a page of metrics. */
  families(claims: readonly PreparedClaim[]): string {
    const ready = claims.filter(({ isReady }) => isReady);
    const inUse = new Map([['<any>', ready.length]]);
    for (const { drivers } of ready)
      for (const driver of drivers.keys()) inUse.set(driver, (inUse.get(driver) ?? 0) + 1);
    return [
      histogramFamily('dra_operations_duration_seconds', operationsHelp, this.#operations.histogram()),
      histogramFamily(
        'dra_grpc_operations_duration_seconds',
        'Duration in seconds of the DRA gRPC operations',
        this.#calls.histogram(),
      ),
      gaugeFamily(
        'dra_resource_claims_in_use',
        inUseHelp,
        [...inUse].map(([driver, value]) => ({ labels: { driver_name: driver }, value })),
      ),
    ].join('');
  }
}

const operationsHelp =
  "Latency histogram in seconds for the duration of handling all ResourceClaims referenced by a pod when the pod starts or stops. Identified by the name of the operation (PrepareResources or UnprepareResources) and separated by the success of the operation. The number of failed operations is provided through the histogram's overall count.";
const inUseHelp =
  'The number of ResourceClaims that are currently in use on the node, by driver name (driver_name label value) and across all drivers (special value <any> for driver_name). Note that the sum of all by-driver counts is not the total number of in-use ResourceClaims because the same ResourceClaim might use devices from different drivers. Instead, use the count for the <any> driver_name.';
