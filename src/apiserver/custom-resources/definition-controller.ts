/**
 * Gives each CustomResourceDefinition its names and establishes it. One worker, since the names of a group are given out one after
 * another: what was written last counts, even if the informer does not show it yet.
 */
import { type CustomResourceDefinition, customResourceDefinitions } from '../../api/gen/apiextensions-v1.ts';
import { compareResourceVersions } from '../../apimachinery/resource-version.ts';
import { isConflict, isNotFound } from '../../apimachinery/status.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';
import { hasCondition, nextStatus } from './definition-status.ts';

/** Runs until the context's signal is aborted. */
export function runDefinitionController(context: ComponentContext): Promise<void> {
  const { client, clock } = context;
  const informer = context.informers.of(customResourceDefinitions);
  const written = new Map<string, CustomResourceDefinition>();
  const latest = (definition: CustomResourceDefinition) => {
    const own = written.get(definition.metadata.name ?? '');
    if (!own || own.metadata.uid !== definition.metadata.uid) return definition;
    const age = compareResourceVersions(own.metadata.resourceVersion, definition.metadata.resourceVersion);
    return age > 0 ? own : definition;
  };
  const groupOf = (name: string) => name.slice(name.indexOf('.') + 1);
  const othersOf = (name: string) =>
    informer
      .list()
      .filter(({ metadata, spec }) => metadata.name !== name && spec.group === groupOf(name))
      .map(latest);

  const controller = createController(context, {
    name: 'crd-names-controller',
    workers: 1,
    async reconcile(name) {
      const shown = informer.get(name);
      if (!shown) written.delete(name);
      const definition = shown && latest(shown);
      const status = definition && nextStatus(definition, () => othersOf(name), clock.now());
      if (definition && !status) return;
      if (definition) {
        try {
          written.set(name, await client.updateStatus(customResourceDefinitions, { ...definition, status }));
        } catch (error) {
          // Somebody else wrote it, and the informer will tell.
          if (isConflict(error) || isNotFound(error)) return;
          throw error;
        }
        controller.enqueue(name);
      }
      // Names that this one has taken or given back may decide about others.
      for (const other of othersOf(name)) {
        if (!hasCondition(other, 'NamesAccepted')) controller.enqueue(other.metadata.name ?? '');
      }
    },
  });
  controller.watch(informer);
  return controller.run();
}
