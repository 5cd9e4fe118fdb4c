/**
 * Scenarios in YAML: nodes, objects, and steps one after the other. `docs/simulation.md` has the whole form.
 *
 *     nodes: [{ count: 3, zone: a }, { count: 3, zone: b }]
 *     objects: [...]
 *     steps:
 *       - { after: 1m, cutNetwork: { zone: a } }
 *       - { after: 10m, mendNetwork: { zone: a } }
 *     watch: 5m
 */
import type { KubeObject } from '../../apimachinery/meta.ts';
import { parseDuration } from '../../apimachinery/time.ts';
import { yamlLibrary } from '../../base/lazy-module.ts';
import type { NodeOptions, SimulatedNode } from '../node/simulated-node.ts';
import type { ComponentName, Simulation } from '../simulation.ts';
import { apply, cordon, drain, resourceOf } from './actions.ts';
import type { Scenario, ScenarioStage } from './scenario.ts';

interface DeclaredScenario {
  readonly description?: string;
  readonly seed?: number;
  readonly nodes?: readonly (NodeOptions & { readonly count?: number })[];
  readonly objects?: readonly KubeObject[];
  readonly steps?: readonly DeclaredStep[];
  readonly watch?: string;
}

type DeclaredStep = Readonly<Record<string, unknown>> & { readonly after?: string };

/** One node by name, all of a zone, or `all`. */
type Selection = 'all' | { readonly node?: string; readonly zone?: string };

type Action = (stage: ScenarioStage, argument: never) => Promise<void> | void;

const actions: Readonly<Record<string, Action>> = {
  powerOff: onNodes((node) => node.powerOff()),
  powerOn: onNodes((node) => node.powerOn()),
  cutNetwork: onNodes((node) => node.cutNetwork()),
  mendNetwork: onNodes((node) => node.mendNetwork()),
  crashKubelet: onNodes((node) => node.crashKubelet()),
  cordon: ({ cluster }, name: string) => cordon(cluster.client, name),
  uncordon: ({ cluster }, name: string) => cordon(cluster.client, name, false),
  drain: ({ cluster }, name: string) => drain(cluster, name),
  crash: ({ cluster }, name: ComponentName | 'kube-apiserver') =>
    name === 'kube-apiserver' ? cluster.crashApiServer() : cluster.component(name).crash(),
  apply: ({ cluster }, object: KubeObject) => apply(cluster.client, object),
  delete: async ({ cluster }, object: KubeObject) => {
    const type = resourceOf(object);
    const { name = '', namespace = 'default' } = object.metadata;
    await cluster.client.delete(type, { name, ...(type.namespaced ? { namespace } : {}) });
  },
};

/** Throws a TypeError that names what is wrong. */
export function declaredScenario(text: string): Scenario {
  const read: unknown = yamlLibrary().parse(text, { version: '1.1' });
  if (typeof read !== 'object' || read === null || Array.isArray(read))
    throw new TypeError('a scenario is a map with nodes, objects and steps');
  const { description, seed, nodes = [{ count: 1 }], objects, steps = [], watch = '0s' } = read as DeclaredScenario;
  const plan = steps.map(plannedStep);
  const watchMs = durationMs(watch);
  return {
    ...(description === undefined ? {} : { description }),
    ...(seed === undefined ? {} : { seed }),
    ...(objects === undefined ? {} : { objects }),
    nodes: nodes.flatMap(({ count = 1, ...node }) => Array.from({ length: count }, () => node)),
    async play(stage) {
      for (const step of plan) {
        await stage.cluster.advance(step.afterMs);
        stage.note(step.text);
        await step.run(stage);
      }
      await stage.cluster.advance(watchMs);
    },
  };
}

function plannedStep({ after = '0s', ...rest }: DeclaredStep) {
  const [[name, argument] = ['', undefined], ...more] = Object.entries(rest);
  const action = actions[name];
  if (!action || more.length > 0)
    throw new TypeError(`a step has one of ${Object.keys(actions).join(', ')}, not ${Object.keys(rest).join(', ')}`);
  const text = `${name} ${typeof argument === 'string' ? argument : wordsOf(argument)}`;
  return { afterMs: durationMs(after), text, run: (stage: ScenarioStage) => action(stage, argument as never) };
}

function wordsOf(argument: unknown): string {
  const { kind, metadata, ...selection } = argument as Partial<KubeObject>;
  if (kind) return `${kind}/${metadata?.name}`;
  return Object.entries(selection).flat().join(' ');
}

function durationMs(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new TypeError(`${JSON.stringify(text)} is no duration such as 90s or 5m`);
  return ms;
}

function onNodes(act: (node: SimulatedNode) => void): Action {
  return ({ cluster }: ScenarioStage, selection: Selection) => {
    for (const node of selected(cluster, selection)) act(node);
  };
}

function selected(cluster: Simulation, selection: Selection): readonly SimulatedNode[] {
  if (selection === 'all') return [...cluster.nodes.values()];
  if (selection.node !== undefined) return [cluster.node(selection.node)];
  const found = [...cluster.nodes.values()].filter(({ zone }) => zone === selection.zone);
  if (found.length === 0) throw new TypeError(`no node is in the zone ${selection.zone}`);
  return found;
}
