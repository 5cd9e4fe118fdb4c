/**
 * `componentstatuses`: an old way to ask whether the control plane is well, kept for who still asks. What is told is what this server
 * knows of itself: its store. Nothing is stored, and nothing can be watched.
 */
import type { ComponentStatus } from '../api/gen/core-v1.ts';
import type { KubeObject } from '../apimachinery/meta.ts';
import { genericServerResponse, messageOf, notFound } from '../apimachinery/status.ts';
import type { Handler } from './request.ts';

export interface ComponentCheck {
  readonly name: string;
  /** Rejects when the component is not well. */
  check(): Promise<void>;
}

export function componentStatusesHandler(checks: readonly ComponentCheck[]): Handler {
  return async (request, info) => {
    if (info.verb === 'get') {
      const check = checks.find(({ name }) => name === info.name);
      if (!check) throw notFound({ group: '', resource: 'componentstatuses' }, info.name);
      return { status: 200, headers: {}, body: { kind: 'object', object: await statusOf(check) } };
    }
    if (info.verb !== 'list') throw genericServerResponse({ code: 405, method: request.method });
    const items = await Promise.all(checks.map(statusOf));
    const list = { kind: 'ComponentStatusList', apiVersion: 'v1', metadata: {}, items };
    return { status: 200, headers: {}, body: { kind: 'object', object: list } };
  };
}

async function statusOf({ name, check }: ComponentCheck): Promise<ComponentStatus & KubeObject> {
  const condition = await check().then(
    () => ({ type: 'Healthy', status: 'True', message: 'ok' }),
    (error: unknown) => ({ type: 'Healthy', status: 'False', error: messageOf(error) }),
  );
  return { kind: 'ComponentStatus', apiVersion: 'v1', metadata: { name }, conditions: [condition] };
}
