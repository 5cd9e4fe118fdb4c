/**
 * `componentstatuses`: an old way to ask whether the control plane is well, kept for who still asks. What is told is what this server
 * knows of itself, its store, and what its composition knows of the others. Nothing is stored, and nothing can be watched.
 */
import { behaviourOf } from '../api/behaviours.ts';
import type { ComponentStatus } from '../api/gen/core-v1.ts';
import type { KubeObject } from '../apimachinery/meta.ts';
import { genericServerResponse, messageOf, notFound } from '../apimachinery/status.ts';
import type { Clock } from '../base/clock.ts';
import { negotiate } from './encoding/negotiation.ts';
import type { Handler } from './request.ts';
import { parseIncludeObject, tableOf } from './table/table.ts';

export interface ComponentCheck {
  readonly name: string;
  check(): Promise<ComponentHealth>;
}

export interface ComponentHealth {
  readonly healthy: boolean;
  readonly message?: string;
  /** Why it could not be found out, or what went wrong. */
  readonly error?: string;
}

/** Well unless `check` rejects. */
export function failingCheck(name: string, check: () => Promise<void>): ComponentCheck {
  return {
    name,
    check: () =>
      check().then(
        () => ({ healthy: true, message: 'ok' }),
        (error: unknown) => ({ healthy: false, error: messageOf(error) }),
      ),
  };
}

export interface ComponentStatusesOptions {
  readonly checks: readonly ComponentCheck[];
  readonly clock: Clock;
}

export function componentStatusesHandler({ checks, clock }: ComponentStatusesOptions): Handler {
  return async (request, info) => {
    if (info.verb !== 'get' && info.verb !== 'list') throw genericServerResponse({ code: 405, method: request.method });
    const asked = checks.filter(({ name }) => info.verb === 'list' || name === info.name);
    if (info.verb === 'get' && asked.length === 0) throw notFound(resource, info.name);
    const items = await Promise.all(asked.map(statusOf));
    const { transform } = negotiate(request, { transforms: true });
    const whole =
      info.verb === 'get' ? items[0]! : { kind: 'ComponentStatusList', apiVersion: 'v1', metadata: {}, items };
    if (transform?.as !== 'Table') return { status: 200, headers: {}, body: { kind: 'object', object: whole } };
    const rows = items.map((item) => ({ served: item, hub: item }));
    const includeObject = parseIncludeObject(request.query.get('includeObject'));
    const options = { version: transform.version, includeObject, nowMs: clock.now(), metadata: {} };
    return {
      status: 200,
      headers: {},
      body: { kind: 'object', object: tableOf(behaviourOf(resource), rows, options) },
    };
  };
}

const resource = { group: '', resource: 'componentstatuses' } as const;

async function statusOf({ name, check }: ComponentCheck): Promise<ComponentStatus & KubeObject> {
  const { healthy, ...told } = await check();
  const condition = { type: 'Healthy', status: healthy ? 'True' : 'False', ...told };
  return { kind: 'ComponentStatus', apiVersion: 'v1', metadata: { name }, conditions: [condition] };
}
