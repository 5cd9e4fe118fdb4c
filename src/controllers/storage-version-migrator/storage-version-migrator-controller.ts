/**
 * Writes the objects of a resource anew, so that none stays in an older version or encryption than the server writes by now: the orders are
 * StorageVersionMigrations, and of the orders for one resource one runs at a time.
 *
 *     {}  ->  Running  ->  status.resourceVersion, the newest before it began  ->  Succeeded or Failed  ->  no longer Running
 *
 * An object is written by an apply that says nothing: the server stores it as it would store it today, and writes nothing where it is
 * stored so already. Objects newer than the order are left alone, so a migration that was interrupted begins again where it matters.
 */
import { customResourceDefinitions } from '../../api/gen/apiextensions-v1.ts';
import {
  type StorageVersionMigration,
  type StorageVersionMigrationStatus,
  storageVersionMigrations,
} from '../../api/gen/storagemigration-v1beta1.ts';
import { findCondition, isConditionTrue, withCondition } from '../../apimachinery/conditions.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import { apiVersionOf, groupResource, type ResourceType } from '../../apimachinery/resource.ts';
import { compareResourceVersions } from '../../apimachinery/resource-version.ts';
import {
  isConflict,
  isInternalError,
  isNotFound,
  isTimeout,
  isTooManyRequests,
  messageOf,
  StatusError,
} from '../../apimachinery/status.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { discover, supports } from '../../client/discovery.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController } from '../../reconcile/controller.ts';
import type { Informer } from '../../reconcile/informer.ts';

const migrationWorkers = 5;
const pageSize = 500;
const againAfterMs = 1000;
/** A definition may be younger than the order, and not served yet. */
const patienceMs = 60_000;
const neededVerbs = ['update', 'patch', 'list'];
/** No namespace can have this name: a list of it tells the newest version and no objects. */
const nowhere = '@fake:svm_ns!';
const runnerName = 'migration-runner-controller';
const migratorName = 'storage-version-migrator-controller';

export async function runStorageVersionMigrator(context: ComponentContext): Promise<void> {
  const migrations = context.informers.of(storageVersionMigrations);
  const migrator = new Migrator(context, migrations);
  const runner = createController(context, {
    name: runnerName,
    workers: 1,
    waitFor: [migrations],
    reconcile: (resource) => migrator.promote(resource),
  });
  const controller = createController(context, {
    name: migratorName,
    workers: migrationWorkers,
    waitFor: [migrations],
    reconcile: (name) => migrator.advance(name),
  });
  runner.watchMapped(migrations, ({ spec }) => [groupResource(spec.resource)]);
  controller.watch(migrations);
  await Promise.all([runner.run(), controller.run()]);
}

type Conditions = StorageVersionMigrationStatus['conditions'];

function hasEnded({ status }: StorageVersionMigration): boolean {
  return isConditionTrue(status?.conditions, 'Succeeded') || isConditionTrue(status?.conditions, 'Failed');
}

function isRunning({ status }: StorageVersionMigration): boolean {
  return isConditionTrue(status?.conditions, 'Running');
}

class Migrator {
  readonly #context: ComponentContext;
  readonly #migrations: Informer<StorageVersionMigration>;

  constructor(context: ComponentContext, migrations: Informer<StorageVersionMigration>) {
    this.#context = context;
    this.#migrations = migrations;
  }

  /** Of one resource's orders: closes those that have ended, and lets the oldest of the others run when none does. */
  async promote(resource: string): Promise<void> {
    const orders = this.#migrations.list().filter(({ spec }) => groupResource(spec.resource) === resource);
    const running = orders.filter(isRunning);
    for (const order of running.filter(hasEnded)) await this.#close(order, resource);
    if (running.some((order) => !hasEnded(order))) return;
    const [next] = orders.filter((order) => !isRunning(order) && !hasEnded(order)).sort(byAge);
    if (!next) return;
    const message = `Migration ${next.metadata.name} is running`;
    await this.#tellDefinition(resource, () => ({ status: 'True', reason: 'MigrationRunning', message }));
    await this.#addCondition(next, {
      type: 'Running',
      reason: 'MigrationRunning',
      message: 'The migration is running',
    });
  }

  async #close(order: StorageVersionMigration, resource: string): Promise<void> {
    const succeeded = isConditionTrue(order.status?.conditions, 'Succeeded');
    await this.#tellDefinition(resource, (unchanged) => ({
      status: 'False',
      reason: succeeded ? 'MigrationSucceeded' : 'MigrationFailed',
      message: succeeded ? successMessage(unchanged) : 'The migration has failed',
      forgetOlder: unchanged,
    }));
    const { generation } = order.metadata;
    const ended = {
      type: 'Running',
      status: 'False',
      reason: 'MigrationCompleted',
      message: 'Migration completed',
      ...(generation ? { observedGeneration: generation } : {}),
    };
    const conditions = withCondition(order.status?.conditions, ended as never, this.#context.clock.now());
    await this.#writeStatus(order, { conditions });
  }

  /**
   * What a CustomResourceDefinition says of the migration of its objects. `tell` learns whether the definition is the one under which
   * it began; only then the versions that it left behind are forgotten.
   */
  async #tellDefinition(resource: string, tell: (unchanged: boolean) => Told): Promise<void> {
    const { client, clock } = this.#context;
    const definition = await client.get(customResourceDefinitions, { name: resource }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (!definition) return;
    const { name, resourceVersion, generation } = definition.metadata;
    const type = 'StorageMigrating';
    const before = findCondition(definition.status?.conditions, type);
    const { forgetOlder = false, ...told } = tell(before?.observedGeneration === generation);
    const stored = definition.spec.versions.find(({ storage }) => storage)?.name;
    const condition = { type, ...told, lastTransitionTime: formatTime(clock.now()), observedGeneration: generation };
    const body = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name, resourceVersion },
      status: { conditions: [condition], ...(forgetOlder && stored ? { storedVersions: [stored] } : {}) },
    };
    const options = { subresource: 'status', fieldManager: runnerName, force: true };
    await client.patch(customResourceDefinitions, { name: resource }, { type: 'apply', body }, options);
  }

  /** The next step of a running order. Throws for what may go better later. */
  async advance(name: string) {
    const order = this.#migrations.get(name);
    if (!order || hasEnded(order)) return undefined;
    const since = order.status?.resourceVersion;
    if (!since && !isRunning(order)) return undefined;
    const { group, resource } = order.spec.resource;
    const { preferred } = await discover(this.#context.client, this.#context.signal);
    const type = preferred.find((one) => one.group === (group ?? '') && one.resource === resource);
    if (!type) {
      const bornMs = Date.parse(order.metadata.creationTimestamp ?? '');
      if (bornMs + patienceMs > this.#context.clock.now()) return { againAfterMs };
      await this.#fail(
        order,
        since ? unhandled('unable to obtain GVR from discovery') : 'resource does not exist in discovery',
      );
      return undefined;
    }
    if (!since) return this.#begin(order, type);
    return this.#migrate(order, type, since);
  }

  async #begin(order: StorageVersionMigration, type: ResourceType): Promise<undefined> {
    if (!supports(type, ...neededVerbs)) {
      const what = JSON.stringify(`${apiVersionText(type)}, Resource=${type.resource}`);
      await this.#fail(order, `resource ${what} does not support discovery operations: [${neededVerbs.join(' ')}]`);
      return undefined;
    }
    const { resourceVersion } = await this.#context.client.list(type, {
      limit: 1,
      ...(type.namespaced ? { namespace: nowhere } : {}),
    });
    await this.#writeStatus(order, { resourceVersion });
    return undefined;
  }

  async #migrate(order: StorageVersionMigration, type: ResourceType, since: string): Promise<undefined> {
    const { client, signal } = this.#context;
    let next: string | undefined;
    do {
      const page = await client.list(type, { limit: pageSize, signal, ...(next ? { continue: next } : {}) });
      for (const object of page.items) {
        if (signal.aborted) return undefined;
        if (compareResourceVersions(object.metadata.resourceVersion, since) > 0) continue;
        const problem = await this.#rewrite(type, object);
        if (problem !== undefined) {
          await this.#fail(order, unhandled(problem));
          return undefined;
        }
      }
      next = page.continue;
    } while (next);
    await this.#addCondition(order, { type: 'Succeeded', reason: 'StorageVersionMigrationSucceeded', message: '' });
    return undefined;
  }

  /** The message of an error that trying again will not mend. Who changed, deleted or replaced the object has migrated it. */
  async #rewrite(type: ResourceType, { metadata }: KubeObject): Promise<string | undefined> {
    const { name = '', namespace, uid, resourceVersion } = metadata;
    const body = { apiVersion: apiVersionOf(type), kind: type.kind, metadata: { uid, resourceVersion } };
    try {
      await this.#context.client.patch(
        type,
        { name, namespace },
        { type: 'apply', body },
        { fieldManager: migratorName },
      );
      return undefined;
    } catch (error) {
      if (isConflict(error)) return undefined;
      if (isPassing(error)) throw error;
      return messageOf(error);
    }
  }

  #fail(order: StorageVersionMigration, message: string): Promise<void> {
    return this.#addCondition(order, { type: 'Failed', reason: 'StorageVersionMigrationFailed', message });
  }

  /** Said once: what was true, or false, stays as it was said. */
  async #addCondition(
    order: StorageVersionMigration,
    { type, reason, message }: { readonly type: string; readonly reason: string; readonly message: string },
  ): Promise<void> {
    const conditions: NonNullable<Conditions> = order.status?.conditions ?? [];
    if (findCondition(conditions, type)) return;
    const lastTransitionTime = formatTime(this.#context.clock.now());
    await this.#writeStatus(order, {
      conditions: [...conditions, { type, status: 'True', lastTransitionTime, reason, message }],
    });
  }

  async #writeStatus(order: StorageVersionMigration, status: Partial<StorageVersionMigrationStatus>): Promise<void> {
    const next = { ...order, status: { ...order.status, ...status } };
    await this.#context.client.updateStatus(storageVersionMigrations, next);
  }
}

interface Told {
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  readonly forgetOlder?: boolean;
}

function successMessage(unchanged: boolean): string {
  const versions = unchanged
    ? 'and the stored versions have been updated'
    : 'but the stored versions have not been updated due to a generation mismatch';
  return `The migration has succeeded ${versions}`;
}

const unhandled = (problem: string): string => `migration encountered unhandled error: ${problem}`;

/** Whether a later try may succeed: the server was busy, or could not be reached. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof StatusError)) return true;
  const unavailable = error.code === 503 || error.status.reason === 'ServerTimeout';
  return unavailable || isTooManyRequests(error) || isInternalError(error) || isTimeout(error);
}

/** As Go prints a group and a version: the core group is empty before the slash. */
function apiVersionText({ group, version }: ResourceType): string {
  return `${group}/${version}`;
}

function byAge(a: StorageVersionMigration, b: StorageVersionMigration): number {
  const [left, right] = [a, b].map(({ metadata }) => `${metadata.creationTimestamp} ${metadata.name}`) as [
    string,
    string,
  ];
  return left < right ? -1 : 1;
}
