/**
 * Custom resources come to life: follows all CustomResourceDefinitions and keeps the set of served resources as they say. Loaded when the
 * first definition is there, so a cluster without any pays nothing.
 *
 * A definition whose spec and accepted names stay the same is served on as it was, whatever else changes; any other change makes its
 * resource anew: caches are dropped and watches end, as upstream's do, and clients watch again under the new rules.
 */
import { type CustomResourceDefinition, customResourceDefinitions } from '../../api/gen/apiextensions-v1.ts';
import { jsonEqual } from '../../apimachinery/patch/merge-patch.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import { componentContext } from '../../reconcile/component.ts';
import type { Environment } from '../registry/environment.ts';
import type { ServedResources } from '../resources.ts';
import type { ServedResource } from '../served-resource.ts';
import { WebhookClients } from '../webhook-client/webhook-clients.ts';
import { runDefinitionCleanup } from './definition-cleanup.ts';
import { runDefinitionController } from './definition-controller.ts';
import { hasCondition } from './definition-status.ts';
import { isServable, type ServedDefinition, serveDefinition } from './served-definition.ts';

export interface CustomResourcesOptions {
  readonly resources: ServedResources;
  readonly environment: Environment;
  /** The loopback client. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Resolves when everything that was defined by then is served. */
export async function startCustomResources(options: CustomResourcesOptions): Promise<void> {
  const { log } = options;
  const context = componentContext(options);
  const registrar = new Registrar(options);
  const informer = context.informers.of(customResourceDefinitions);
  informer.onChange({
    added: (definition) => registrar.update(definition),
    updated: (definition) => registrar.update(definition),
    deleted: (definition) => registrar.remove(definition),
  });
  await informer.whenSynced(options.signal);
  const failed = (error: unknown) => {
    if (!options.signal.aborted) log.error('a controller of custom resources ended', { error: String(error) });
  };
  runDefinitionController(context).catch(failed);
  const { environment } = options;
  const storageOf = (name: string) => registrar.storageOf(name);
  runDefinitionCleanup(context, { environment, storageOf }).catch(failed);
}

class Registrar {
  readonly #options: CustomResourcesOptions;
  readonly #webhooks: WebhookClients;
  readonly #served = new Map<string, ServedDefinition>();

  constructor(options: CustomResourcesOptions) {
    const { clock, client, signal } = options;
    this.#options = options;
    this.#webhooks = new WebhookClients({ clock, client });
    signal.addEventListener('abort', () => this.#webhooks.close(), { once: true });
  }

  /** The resource in the version in which it is stored, served or not. */
  storageOf(name: string): ServedResource | undefined {
    return this.#served.get(name)?.storage;
  }

  update(definition: CustomResourceDefinition): void {
    const name = definition.metadata.name ?? '';
    const known = this.#served.get(name);
    if (known && saysTheSame(known.state.definition, definition)) {
      const before = known.state.definition;
      known.state.definition = definition;
      if (shownConditions.some((type) => hasCondition(before, type) !== hasCondition(definition, type))) {
        this.#options.resources.touch();
      }
      return;
    }
    if (isServable(definition)) this.#serve(name, definition, known);
    else if (known) this.remove(definition);
  }

  remove({ metadata: { name = '' } }: CustomResourceDefinition): void {
    const known = this.#served.get(name);
    if (!known) return;
    this.#served.delete(name);
    this.#options.resources.replace([...known.versions.values()], []);
  }

  #serve(name: string, definition: CustomResourceDefinition, known: ServedDefinition | undefined): void {
    const { resources, environment } = this.#options;
    const { random, log } = this.#options;
    const revision = environment.revision();
    const next = serveDefinition(definition, { webhooks: this.#webhooks, random, log, revision });
    this.#served.set(name, next);
    resources.replace([...(known?.versions.values() ?? [])], next.served);
  }
}

/** Conditions that discovery shows. */
const shownConditions = ['Established', 'Terminating'];

function saysTheSame(a: CustomResourceDefinition, b: CustomResourceDefinition): boolean {
  if (a.metadata.uid !== b.metadata.uid || isServable(a) !== isServable(b)) return false;
  return jsonEqual(a.status?.acceptedNames, b.status?.acceptedNames) && jsonEqual(a.spec, b.spec);
}
