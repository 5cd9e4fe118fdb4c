/** Which requests the selectors of a webhook or policy mean: by the labels of the object's namespace and by its own. */
import { type Namespace, namespaces } from '../../../api/gen/core-v1.ts';
import type { LabelMatcher, Labels } from '../../../apimachinery/labels.ts';
import { internalError, isNotFound, messageOf, type StatusError } from '../../../apimachinery/status.ts';
import type { AdmissionAttributes } from '../admission.ts';
import { isResource, type PluginContext } from '../plugin-context.ts';

/** Whether a request is meant; an error where that cannot be told, which counts only if all else says it is. */
export type Verdict = boolean | StatusError;

export class Namespaces {
  readonly #context: Pick<PluginContext, 'client' | 'informers'>;

  constructor(context: Pick<PluginContext, 'client' | 'informers'>) {
    this.#context = context;
  }

  /** From the informer, and where that has not heard of it yet, from the server. Rejects with 404. */
  get(name: string): Namespace | Promise<Namespace> {
    const { client, informers } = this.#context;
    return informers.of(namespaces).get(name) ?? client.get(namespaces, { name });
  }

  /** What is cluster-scoped and no namespace is always meant. */
  async selected(selector: () => LabelMatcher, attributes: AdmissionAttributes): Promise<Verdict> {
    if (attributes.namespace === '' && attributes.resource.resource !== 'namespaces') return true;
    try {
      const matcher = selector();
      return matcher.empty || matcher.matches(await this.#labels(attributes));
    } catch (error) {
      return isNotFound(error) ? error : internalError(messageOf(error), { cause: error });
    }
  }

  /** A namespace that is being made or changed is judged by what it is to be. */
  async #labels({ resource, subresource, operation, object, namespace }: AdmissionAttributes): Promise<Labels> {
    const isOwn = isResource(resource, '', 'namespaces') && subresource === '';
    if (isOwn && (operation === 'CREATE' || operation === 'UPDATE')) return object?.metadata.labels ?? {};
    return (await this.get(namespace)).metadata.labels ?? {};
  }
}

/** The object as it is or as it was: either is enough, so that nothing escapes by taking a label off. */
export function objectSelected(
  selector: () => LabelMatcher,
  { object, oldObject }: Pick<AdmissionAttributes, 'object' | 'oldObject'>,
): Verdict {
  try {
    const matcher = selector();
    if (matcher.empty) return true;
    return [object, oldObject].some((one) => one?.metadata !== undefined && matcher.matches(one.metadata.labels ?? {}));
  } catch (error) {
    return internalError(messageOf(error), { cause: error });
  }
}
