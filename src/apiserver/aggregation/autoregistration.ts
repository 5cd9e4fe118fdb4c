/** Writes the APIServices of what this server itself serves, and keeps those of custom resources in step with their definitions. */
import { semanticallyEqual } from '../../api/equality.ts';
import { type CustomResourceDefinition, customResourceDefinitions } from '../../api/gen/apiextensions-v1.ts';
import { type APIService, apiServices } from '../../api/gen/apiregistration-v1.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../../apimachinery/status.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';
import type { Informer } from '../../reconcile/informer.ts';
import type { ServedResources } from '../resources.ts';
import {
  builtinServices,
  customService,
  type DesiredService,
  registrationStep,
  serviceName,
} from './local-services.ts';

/** Runs until the context's signal is aborted. */
export async function runAutoregistration(context: ComponentContext, resources: ServedResources): Promise<void> {
  const { informers, signal } = context;
  const services = informers.of(apiServices);
  const definitions = informers.of(customResourceDefinitions);
  // Without all definitions the services of those still to come would be taken for leftovers.
  await Promise.all([services.whenSynced(signal), definitions.whenSynced(signal)]);
  const registration = new Autoregistration(context, { services, definitions, resources });
  const controller = createController(context, {
    name: 'autoregister',
    reconcile: (name) => registration.reconcile(name),
  });
  for (const name of registration.builtin.keys()) controller.enqueue(name);
  controller.watch(services);
  controller.watchMapped(definitions, (now, before) => [...namesOf(now), ...(before ? namesOf(before) : [])]);
  await controller.run();
}

function namesOf({ spec }: CustomResourceDefinition): string[] {
  return spec.versions.map(({ name }) => serviceName({ group: spec.group, version: name }));
}

interface Sources {
  readonly services: Informer<APIService>;
  readonly definitions: Informer<CustomResourceDefinition>;
  readonly resources: ServedResources;
}

class Autoregistration {
  readonly builtin: ReadonlyMap<string, DesiredService>;
  readonly #context: ComponentContext;
  readonly #services: Informer<APIService>;
  readonly #definitions: Informer<CustomResourceDefinition>;
  readonly #presentAtStart: ReadonlySet<string>;
  readonly #done = new Set<string>();

  constructor(context: ComponentContext, { services, definitions, resources }: Sources) {
    this.#context = context;
    this.#services = services;
    this.#definitions = definitions;
    this.builtin = builtinServices((group, version) => resources.hasVersion(group, version));
    this.#presentAtStart = new Set(services.list().map(({ metadata }) => metadata.name ?? ''));
  }

  async reconcile(name: string): Promise<void> {
    const desired = this.builtin.get(name) ?? customService(name, this.#definitions.list());
    const current = this.#services.get(name);
    const step = registrationStep({
      desired,
      current,
      presentAtStart: this.#presentAtStart.has(name),
      done: this.#done.has(name),
      specsMatch: semanticallyEqual(current?.spec, desired?.spec),
    });
    const { client } = this.#context;
    // Whatever happened meanwhile comes in by the informer.
    const unless = (isExpected: (error: unknown) => boolean) => (error: unknown) => {
      if (!isExpected(error)) throw error;
    };
    const overtaken = unless((error) => isNotFound(error) || isConflict(error));
    if (step === 'create' && desired) await client.create(apiServices, desired).catch(unless(isAlreadyExists));
    if (step === 'update' && current && desired) {
      await client.update(apiServices, { ...current, spec: desired.spec }).catch(overtaken);
    }
    if (step === 'delete' && current) {
      const { uid } = current.metadata;
      await client.delete(apiServices, { name }, { preconditions: { uid } }).catch(overtaken);
    }
    this.#done.add(name);
  }
}
