/**
 * PodNodeSelector: a namespace (by an annotation) or the configuration says on which nodes its Pods go, and the configuration, which
 * labels of nodes they may ask for at all. Off by default.
 */
import { namespaces, type Pod } from '../../../api/gen/core-v1.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { isNotFound, messageOf, statusError } from '../../../apimachinery/status.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission.ts';
import { handling, type PluginContext, whenReady } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';

const annotation = 'scheduler.alpha.kubernetes.io/node-selector';

type Labels = Readonly<Record<string, string>>;

/** Selectors as texts, `a=1,b=2`: of the whole cluster, and what each namespace may ask for. */
export interface PodNodeSelectorConfiguration {
  readonly podNodeSelectorPluginConfig?: Readonly<Record<string, string>>;
}

export function podNodeSelector(context: PluginContext, configuration?: unknown): AdmissionPlugin {
  const { podNodeSelectorPluginConfig: selectors = {} } = (configuration ?? {}) as PodNodeSelectorConfiguration;
  const informer = context.informers.of(namespaces);

  async function selectorOf(attributes: AdmissionAttributes): Promise<Labels> {
    await whenReady(context, informer, attributes);
    const name = attributes.namespace;
    const namespace = informer.get(name) ?? (await context.client.get(namespaces, { name }).catch(missing(name)));
    return labelsOf(namespace.metadata.annotations?.[annotation] ?? selectors.clusterDefaultNodeSelector ?? '');
  }

  function check(attributes: AdmissionAttributes, wanted: Labels, own: Labels): void {
    if (conflict(wanted, own))
      throw refusal(attributes, 'pod node label selector conflicts with its namespace node label selector');
    const allowed = labelsOf(selectors[attributes.namespace] ?? '');
    const within = Object.entries(own).every(([key, value]) => allowed[key] === value);
    if (Object.keys(allowed).length > 0 && !within)
      throw refusal(attributes, 'pod node label selector labels conflict with its namespace whitelist');
  }

  return {
    name: 'PodNodeSelector',
    handles: handling(['CREATE'], '', 'pods'),
    async admit(attributes) {
      const { spec } = attributes.object as Draft<Pod>;
      const wanted = await selectorOf(attributes);
      const merged = { ...wanted, ...spec.nodeSelector };
      check(attributes, wanted, { ...spec.nodeSelector });
      check(attributes, wanted, merged);
      if (Object.keys(merged).length > 0) spec.nodeSelector = merged;
    },
    async validate(attributes) {
      const { nodeSelector = {} } = (attributes.object as Pod).spec;
      check(attributes, await selectorOf(attributes), nodeSelector);
    },
  };
}

function missing(name: string): (error: unknown) => never {
  return (error) => {
    const message = isNotFound(error) ? `namespace ${name} does not exist` : messageOf(error);
    throw statusError({ code: 500, reason: 'InternalError', message: `Internal error occurred: ${message}` });
  };
}

/** Throws what a text that is no list of labels deserves. */
function labelsOf(text: string): Labels {
  if (text === '') return {};
  return Object.fromEntries(
    text.split(',').map((part) => {
      const sides = part.split('=');
      if (sides.length !== 2)
        throw statusError({ code: 500, reason: '', message: `invalid selector: [${sides.join(' ')}]` });
      return sides.map((side) => side.trim()) as [string, string];
    }),
  );
}

function conflict(a: Labels, b: Labels): boolean {
  return Object.entries(a).some(([key, value]) => b[key] !== undefined && b[key] !== value);
}
