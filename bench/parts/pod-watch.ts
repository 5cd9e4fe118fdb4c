/** All Pods of a namespace as a watch tells of them. */
import type { ClientHttp2Session } from 'node:http2';

export interface PodState {
  readonly metadata: { readonly name: string };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly restartCount: number }[];
  };
}

export class PodWatch {
  readonly #waiting = new Set<{ readonly name: string; check(pod: PodState | undefined): void }>();

  constructor(session: ClientHttp2Session, podsPath: string) {
    const stream = session.request({ ':path': `${podsPath}?watch=true` });
    let text = '';
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) this.#tell(JSON.parse(line) as { readonly type: string; readonly object: PodState });
    });
  }

  /** Resolves with the time at which it became true; the Pod is undefined once it is gone. */
  until(name: string, condition: (pod: PodState | undefined) => boolean): Promise<number> {
    return new Promise((resolve) => {
      const waiter = {
        name,
        check: (pod: PodState | undefined) => {
          if (!condition(pod)) return;
          this.#waiting.delete(waiter);
          resolve(performance.now());
        },
      };
      this.#waiting.add(waiter);
    });
  }

  #tell({ type, object }: { readonly type: string; readonly object: PodState }): void {
    for (const waiter of [...this.#waiting])
      if (waiter.name === object.metadata.name) waiter.check(type === 'DELETED' ? undefined : object);
  }
}
