/**
 * The objects that a token is bound to, as they stand now. The informer answers when it knows the object the token means; what it does
 * not know, or knows under another uid, is read from the server, so a Pod created a moment ago can use its token at once.
 */
import {
  type Node,
  nodes,
  type Pod,
  pods,
  type Secret,
  type ServiceAccount,
  secrets,
  serviceAccounts,
} from '../../api/gen/core-v1.ts';
import type { KubeObject } from '../../apimachinery/meta.ts';
import type { ResourceType } from '../../apimachinery/resource.ts';
import { isNotFound } from '../../apimachinery/status.ts';
import type { Client } from '../../client/client.ts';
import type { InformerSet } from '../../reconcile/informer.ts';

export interface ObjectKey {
  readonly namespace?: string | undefined;
  readonly name: string;
  /** What the caller expects; only decides whether the informer's copy is good enough. */
  readonly uid?: string | undefined;
}

export interface TokenObjects {
  serviceAccount(key: ObjectKey): Promise<ServiceAccount | undefined>;
  pod(key: ObjectKey): Promise<Pod | undefined>;
  node(key: ObjectKey): Promise<Node | undefined>;
  secret(key: ObjectKey): Promise<Secret | undefined>;
}

export function tokenObjects(options: { readonly client: Client; readonly informers: InformerSet }): TokenObjects {
  const { client, informers } = options;

  async function live<T>(type: ResourceType<T>, { namespace, name }: ObjectKey): Promise<T | undefined> {
    try {
      return await client.get(type, { namespace, name });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  function cached<T extends KubeObject>(type: ResourceType<T>) {
    const informer = informers.of(type);
    return async (key: ObjectKey): Promise<T | undefined> => {
      const known = informer.get(key.namespace ? `${key.namespace}/${key.name}` : key.name);
      return known && known.metadata.uid === key.uid ? known : live(type, key);
    };
  }

  return {
    serviceAccount: cached(serviceAccounts),
    pod: cached(pods),
    node: cached(nodes),
    // Secrets are many and tokens bound to them few, so no copy of all of them is kept for that.
    secret: (key) => live(secrets, key),
  };
}
