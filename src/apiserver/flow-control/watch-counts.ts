/** How many watches an object's change may concern, by the place they watch: that is what a write costs beside the write. */
import type { ApiRequest, RequestInfo } from '../request.ts';

/** Watches of one of these values of an indexed field are told of few changes, and not counted. */
const indexedFields: Readonly<Record<string, string>> = { pods: 'spec.nodeName' };

export class WatchCounts {
  readonly #counts = new Map<string, number>();

  /** Counts until the signal of the request is aborted: when its client has gone, or the watch has ended. */
  add({ signal }: ApiRequest, info: RequestInfo): void {
    if (signal.aborted || isIndexed(info)) return;
    const place = placeOf(info, info.namespace, info.name);
    this.#change(place, 1);
    signal.addEventListener('abort', () => this.#change(place, -1), { once: true });
  }

  /** Those of the whole resource, of the namespace, and of the object. */
  interestedIn(info: RequestInfo): number {
    if (this.#counts.size === 0) return 0;
    const { namespace, name } = info;
    let count = this.#counts.get(placeOf(info, '', '')) ?? 0;
    if (namespace !== '') count += this.#counts.get(placeOf(info, namespace, '')) ?? 0;
    if (name !== '') count += this.#counts.get(placeOf(info, namespace, name)) ?? 0;
    return count;
  }

  #change(place: string, by: 1 | -1): void {
    const count = (this.#counts.get(place) ?? 0) + by;
    if (count === 0) this.#counts.delete(place);
    else this.#counts.set(place, count);
  }
}

function placeOf({ group, resource }: RequestInfo, namespace: string, name: string): string {
  return `${group}/${resource}/${namespace}/${name}`;
}

function isIndexed({ group, resource, fieldSelector = '' }: RequestInfo): boolean {
  const field = group === '' ? indexedFields[resource] : undefined;
  if (field === undefined) return false;
  return fieldSelector.split(',').some((term) => /^([^=!]+)==?(.+)$/.exec(term)?.[1] === field);
}
