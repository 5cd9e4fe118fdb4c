/**
 * Placed Pods by namespace and label, so that those like one another are found without looking at all others: `namespace a, app=web` leads to its
 * hundred Pods among a hundred thousand. Only selectors that pin a label to one value can use it, and those of workloads do.
 */
import type { LabelMatcher } from '../apimachinery/labels.ts';
import type { PodInfo } from './pod-info.ts';

interface Placed {
  readonly info: PodInfo;
  readonly nodeName: string;
}

export class PodIndex {
  readonly #placed = new Map<string, Placed>();
  readonly #byLabel = new Map<string, Map<string, Placed>>();

  set(info: PodInfo, nodeName: string): void {
    this.delete(info.key);
    const placed = { info, nodeName };
    this.#placed.set(info.key, placed);
    for (const label of labelsOf(info)) {
      const pods = this.#byLabel.get(label);
      if (pods) pods.set(info.key, placed);
      else this.#byLabel.set(label, new Map([[info.key, placed]]));
    }
  }

  delete(key: string): void {
    const placed = this.#placed.get(key);
    if (!placed) return;
    this.#placed.delete(key);
    for (const label of labelsOf(placed.info)) {
      const pods = this.#byLabel.get(label);
      pods?.delete(key);
      if (pods?.size === 0) this.#byLabel.delete(label);
    }
  }

  /** How many Pods of the namespace match, by node; Pods on their way out do not count. */
  countByNode(selector: LabelMatcher, namespace: string | undefined): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { info, nodeName } of this.#candidates(selector, namespace)) {
      const { metadata } = info.pod;
      if (metadata.deletionTimestamp || metadata.namespace !== namespace || !selector.matches(metadata.labels))
        continue;
      counts.set(nodeName, (counts.get(nodeName) ?? 0) + 1);
    }
    return counts;
  }

  #candidates(selector: LabelMatcher, namespace: string | undefined): Iterable<Placed> {
    let fewest: ReadonlyMap<string, Placed> | undefined;
    for (const { key } of selector.requirements) {
      const value = selector.exactValue(key);
      if (value === undefined) continue;
      const pods = this.#byLabel.get(labelKey(namespace, key, value));
      if (!pods) return [];
      if (!fewest || pods.size < fewest.size) fewest = pods;
    }
    return (fewest ?? this.#placed).values();
  }
}

function* labelsOf({ pod: { metadata } }: PodInfo): Iterable<string> {
  const { namespace, labels = {} } = metadata;
  for (const key in labels) yield labelKey(namespace, key, labels[key] ?? '');
}

function labelKey(namespace: string | undefined, key: string, value: string): string {
  return `${namespace}\n${key}\n${value}`;
}
