/** What the tests of plugins share: a cluster of maps, a clock, and attributes with sensible values. */
import { draft, type KubeObject } from '../../apimachinery/meta.ts';
import type { GroupVersionKind, GroupVersionResource } from '../../apimachinery/resource.ts';
import { silentLog } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { MemoryApi } from '../../testing/memory-api.ts';
import { MemoryInformers } from '../../testing/memory-informers.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { UserInfo } from '../request.ts';
import type { AdmissionAttributes, AdmissionPlugin } from './admission.ts';
import type { PluginContext } from './plugin-context.ts';

export const alice: UserInfo = { name: 'alice', groups: ['system:authenticated'] };

export interface PluginHarness {
  readonly api: MemoryApi;
  readonly informers: MemoryInformers;
  readonly clock: FakeClock;
  readonly context: PluginContext;
  /** `verb resource/name` that the authorizer allows. */
  readonly allowed: Set<string>;
}

export function pluginHarness(): PluginHarness {
  const api = new MemoryApi();
  const informers = new MemoryInformers(api);
  const clock = new FakeClock();
  const allowed = new Set<string>();
  const authorizer: Authorizer = {
    name: 'Test',
    authorize: ({ info }) => {
      const isAllowed = allowed.has(`${info.verb} ${info.resource}/${info.name}`);
      return { decision: isAllowed ? 'allow' : 'no-opinion', reason: isAllowed ? '' : 'no rule' };
    },
  };
  const context = { client: api.client, informers, clock, random: seededRandom(1), log: silentLog, authorizer };
  return { api, informers, clock, context, allowed };
}

export interface AttributesInput<T> {
  readonly type: GroupVersionResource & GroupVersionKind;
  readonly object?: T;
  readonly oldObject?: T;
  readonly subresource?: string;
  readonly user?: UserInfo;
  readonly dryRun?: boolean;
  readonly operation?: AdmissionAttributes['operation'];
}

export interface TestAttributes extends AdmissionAttributes {
  readonly warnings: string[];
}

export function attributesOf<T extends KubeObject>(input: AttributesInput<T>): TestAttributes {
  const { type, object, oldObject } = input;
  const metadata = (object ?? oldObject)?.metadata;
  const warnings: string[] = [];
  return {
    operation: input.operation ?? (oldObject ? (object ? 'UPDATE' : 'DELETE') : 'CREATE'),
    resource: { group: type.group, version: type.version, resource: type.resource },
    kind: { group: type.group, version: type.version, kind: type.kind },
    subresource: input.subresource ?? '',
    namespace: metadata?.namespace ?? '',
    name: metadata?.name ?? '',
    user: input.user ?? alice,
    dryRun: input.dryRun ?? false,
    options: {},
    object: object && (draft(object) as AdmissionAttributes['object']),
    oldObject,
    warn: (message) => void warnings.push(message),
    warnings,
  };
}

/** Both phases, as the chain would run them; rejects with the refusal. */
export async function run(plugin: AdmissionPlugin, attributes: AdmissionAttributes): Promise<void> {
  if (!plugin.handles(attributes.operation, attributes.resource, attributes.subresource)) return;
  await plugin.admit?.(attributes, { isSecond: false, runAgain() {}, memory: new Map() });
  await plugin.validate?.(attributes);
}

/** The message of the refusal; undefined when admitted. */
export async function refusalOf(plugin: AdmissionPlugin, attributes: AdmissionAttributes): Promise<string | undefined> {
  try {
    await run(plugin, attributes);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
