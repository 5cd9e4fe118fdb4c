/** Pods by the node they are bound to. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Informer } from '../../reconcile/informer.ts';

const byNode = 'controllers/node-name';

export function indexByNode(pods: Informer<Pod>): void {
  pods.addIndex(byNode, ({ spec }) => (spec.nodeName ? [spec.nodeName] : []));
}

export function podsOnNode(pods: Informer<Pod>, nodeName: string): readonly Pod[] {
  return pods.byIndex(byNode, nodeName);
}
