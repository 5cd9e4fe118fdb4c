/** Labels of nodes that have newer names: whoever selects by the old ones is told. */
import { type FieldPath, path } from '../../../apimachinery/field-error.ts';
import type { LabelSelector } from '../../../apimachinery/gen/meta-v1.ts';
import { labelValue } from '../../../apimachinery/names.ts';
import type { NodeSelectorTerm } from '../../gen/core-v1.ts';
import type { RuntimeClass } from '../../gen/node-v1.ts';
import type { WarningsOf } from '../../warnings.ts';

const deprecatedLabels: ReadonlyMap<string, string> = new Map([
  ['beta.kubernetes.io/arch', 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ['beta.kubernetes.io/os', 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  ['failure-domain.beta.kubernetes.io/region', 'deprecated since v1.17; use "topology.kubernetes.io/region" instead'],
  ['failure-domain.beta.kubernetes.io/zone', 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'],
  ['beta.kubernetes.io/instance-type', 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'],
  ['app.kubernetes.io/created-by', 'deprecated since v1.9'],
  ['scheduler.alpha.kubernetes.io/preferAvoidPods', 'deprecated since v1.22; use Taints and Tolerations instead'],
  ['node-role.kubernetes.io/master', 'use "node-role.kubernetes.io/control-plane" instead'],
]);

/** What is to be said of a node's label; undefined for nearly all. */
export function deprecatedLabel(key: string): string | undefined {
  return deprecatedLabels.get(key);
}

/** One of the keys of a selector of nodes, with its place. */
export function keyWarnings(at: FieldPath, key: string): string[] {
  const message = deprecatedLabels.get(key);
  return message === undefined ? [] : [`${at}: ${key} is ${message}`];
}

/** `checkValues` where nothing else refuses what can be no label's value. */
export function termWarnings(
  at: FieldPath,
  term: NodeSelectorTerm,
  { checkValues }: { readonly checkValues: boolean },
): string[] {
  return (term.matchExpressions ?? []).flatMap(({ key, values = [] }, index) => {
    const here = at.child('matchExpressions').index(index);
    const warnings = keyWarnings(here.child('key'), key);
    if (!checkValues) return warnings;
    const invalid = values.flatMap((value, i) =>
      labelValue(value).map((message) => `${here.child('values').index(i)}: ${value} is invalid, ${message}`),
    );
    return [...warnings, ...invalid];
  });
}

export function selectorWarnings(at: FieldPath, selector: LabelSelector | undefined): string[] {
  const expressions = (selector?.matchExpressions ?? []).flatMap(({ key }, index) =>
    keyWarnings(at.child('matchExpressions').index(index).child('key'), key),
  );
  const labels = Object.keys(selector?.matchLabels ?? {}).flatMap((key) => {
    const message = deprecatedLabels.get(key);
    return message === undefined ? [] : [`${at.child('matchLabels', key)}: ${message}`];
  });
  return [...expressions, ...labels];
}

export const runtimeClassWarnings: WarningsOf<RuntimeClass> = ({ scheduling }) =>
  Object.keys(scheduling?.nodeSelector ?? {}).flatMap((key) => {
    const message = deprecatedLabels.get(key);
    return message === undefined ? [] : [`${path('scheduling', 'nodeSelector')}: ${message}`];
  });
