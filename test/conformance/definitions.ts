/** CustomResourceDefinitions for tests: each with a group of its own, established when it is answered. */
import {
  type CustomResourceDefinition,
  type CustomResourceDefinitionVersion,
  customResourceDefinitions,
} from '../../src/api/gen/apiextensions-v1.ts';
import { isConditionTrue } from '../../src/apimachinery/conditions.ts';
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import { customResource, type ResourceType } from '../../src/apimachinery/resource.ts';
import { randomSuffix, systemRandom } from '../../src/base/random.ts';
import type { Client } from '../../src/client/index.ts';
import { when } from './cluster.ts';

/** Objects whose fields are the test's own matter. */
export type CustomObject = KubeObject & Readonly<Record<string, unknown>>;

export type Schema = NonNullable<NonNullable<CustomResourceDefinitionVersion['schema']>['openAPIV3Schema']>;

export const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as unknown as Schema;

export interface DefinitionOptions {
  readonly kind?: string;
  readonly group?: string;
  readonly namespaced?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  readonly schema?: Schema;
  readonly versions?: readonly (Partial<CustomResourceDefinitionVersion> & { readonly name: string })[];
  readonly conversion?: CustomResourceDefinition['spec']['conversion'];
}

export interface Defined {
  readonly name: string;
  readonly definition: CustomResourceDefinition;
  /** The resource in the first version, or the one that is named. */
  type(version?: string): ResourceType<CustomObject>;
}

export async function define(client: Client, options: DefinitionOptions = {}): Promise<Defined> {
  const { kind = 'Gadget', namespaced = false, schema = anything, labels = {}, conversion } = options;
  const group = options.group ?? `test-${randomSuffix(systemRandom)}.example.com`;
  const singular = kind.toLowerCase();
  const plural = `${singular}s`;
  const name = `${plural}.${group}`;
  const versions = (options.versions ?? [{ name: 'v1' }]).map((version, index) => ({
    served: true,
    storage: index === 0,
    schema: { openAPIV3Schema: schema },
    ...version,
  }));
  await client.create(customResourceDefinitions, {
    metadata: { name, labels },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: { plural, singular, kind, listKind: `${kind}List` },
      versions,
      conversion,
    },
  });
  const established = await when(client, customResourceDefinitions, { name }, (definition) =>
    isConditionTrue(definition?.status?.conditions, 'Established'),
  );
  return {
    name,
    definition: established!,
    type: (version = versions[0]!.name) => customResource({ group, version, kind }, { resource: plural, namespaced }),
  };
}

/** Deletes the definition and waits until it has gone. */
export async function undefine(client: Client, { name }: Defined): Promise<void> {
  await client.delete(customResourceDefinitions, { name });
  await when(client, customResourceDefinitions, { name }, (definition) => definition === undefined);
}
