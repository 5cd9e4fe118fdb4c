/** What is counted about an external signer of tokens, for `/metrics`. Names, labels and limits are upstream's. */

import { GrpcError, grpcCodeName } from '../../base/grpc/index.ts';
import { counterFamily, gaugeFamily, histogramFamily } from '../../base/metrics/families.ts';
import { Counts, Timings } from '../../base/metrics/series.ts';

const requestLimits: readonly number[] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export class SignerStatistics {
  readonly #fetches = new Counts();
  readonly #signatures = new Counts();
  readonly #times = new Counts();
  readonly #requests = new Timings(requestLimits);

  fetchedKeys(result: { readonly atMs: number; readonly dataAtSeconds: number } | { readonly error: unknown }): void {
    this.#fetches.add({ code: 'error' in result ? codeOf(result.error) : 'OK' });
    if ('error' in result) return;
    this.#times.set({ of: 'success' }, result.atMs / 1000);
    this.#times.set({ of: 'data' }, result.dataAtSeconds);
  }

  /** `error`: absent for a token that was signed. */
  signed(error?: unknown): void {
    this.#signatures.add({ code: error === undefined ? 'OK' : codeOf(error) });
  }

  /** `method` as gRPC writes it: `/v1.ExternalJWTSigner/Sign`. */
  asked(method: string, durationMs: number, error?: unknown): void {
    this.#requests.add({ method, code: error === undefined ? 'OK' : codeOf(error) }, durationMs);
  }

  families(): string {
    const time = (of: string) =>
      [...this.#times.samples()].filter(({ labels }) => labels.of === of).map(({ value }) => ({ labels: {}, value }));
    return [
      gaugeFamily(
        'apiserver_externaljwt_fetch_keys_success_timestamp',
        'Unix Timestamp in seconds of the last successful FetchKeys request',
        time('success'),
      ),
      gaugeFamily(
        'apiserver_externaljwt_fetch_keys_data_timestamp',
        'Unix Timestamp in seconds of the last successful FetchKeys data_timestamp value returned by the external signer',
        time('data'),
      ),
      counterFamily(
        'apiserver_externaljwt_fetch_keys_request_total',
        'Total attempts at syncing supported JWKs',
        this.#fetches.samples(),
      ),
      counterFamily(
        'apiserver_externaljwt_sign_request_total',
        'Total attempts at signing JWT',
        this.#signatures.samples(),
      ),
      histogramFamily(
        'apiserver_externaljwt_request_duration_seconds',
        'Request duration and time for calls to external-jwt-signer',
        this.#requests.histogram(),
      ),
    ].join('');
  }
}

/** Of the call at the root of the error; another name for what failed here. */
function codeOf(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof GrpcError) return grpcCodeName(cause.code);
  }
  return 'unknown-non-grpc';
}
