/**
 * What the cluster knows of this node's CSI drivers: the CSINode (who is here, what the node is called there, how many volumes it can
 * have), an annotation of the Node with the same ids, and labels of where the node lies. One change at a time; each is tried four
 * times, for others write to these objects too.
 */
import { type Node, nodes } from '../../api/gen/core-v1.ts';
import { type CSINode, type CSINodeDriver, csiNodes } from '../../api/gen/storage-v1.ts';
import { goJson, quote } from '../../apimachinery/go-text.ts';
import { isNotFound, messageOf } from '../../apimachinery/status.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Client } from '../../client/client.ts';

export interface CsiNodeInfoOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly nodeName: string;
}

/** What a driver says of the node. */
export interface DriverNode {
  readonly nodeId: string;
  /** 0: as many as one likes. */
  readonly maxVolumes: number;
  readonly topology: Readonly<Record<string, string>>;
}

const nodeIdAnnotation = 'csi.volume.kubernetes.io/nodeid';
const attempts = 4;
const firstPauseMs = 10;
const pauseFactor = 5;
const largestCount = 2 ** 31 - 1;

export class CsiNodeInfo {
  readonly #options: CsiNodeInfoOptions;
  #turn: Promise<unknown> = Promise.resolve();
  #isInitialized = false;

  constructor(options: CsiNodeInfoOptions) {
    this.#options = options;
  }

  /** Why the node cannot be ready yet. */
  get problem(): string | undefined {
    return this.#isInitialized ? undefined : 'CSINode is not yet initialized';
  }

  /** The CSINode is there and belongs to this Node. */
  async initialize(): Promise<void> {
    await this.#inTurn(() => this.#retried('error updating CSINode annotation', () => this.#ownCsiNode()));
    this.#isInitialized = true;
  }

  install(driver: string, info: DriverNode): Promise<void> {
    if (info.nodeId === '')
      return Promise.reject(new Error('error adding CSI driver node info: driverNodeID must not be empty'));
    return this.#inTurn(async () => {
      const node = () => this.#changeNode((current) => withDriver(current, driver, info));
      await this.#retried('error updating Node object with CSI driver node info: error updating node', node);
      const csiNode = () => this.#changeCsiNode((drivers) => withCsiDriver(drivers, driver, info));
      await this.#retried('error updating CSINode object with CSI driver node info: error updating CSINode', csiNode);
    });
  }

  /** How many volumes of the driver the node can have now; nothing where it is not installed. */
  setCount(driver: string, maxVolumes: number): Promise<void> {
    return this.#inTurn(async () => {
      const csiNode = () => this.#changeCsiNode((drivers) => withCount(drivers, driver, maxVolumes));
      await this.#retried('error updating CSINode object with CSI driver node info: error updating CSINode', csiNode);
    });
  }

  uninstall(driver: string): Promise<void> {
    return this.#inTurn(async () => {
      const csiNode = () =>
        this.#changeCsiNode((drivers) =>
          drivers.some(({ name }) => name === driver) ? drivers.filter(({ name }) => name !== driver) : undefined,
        );
      await this.#retried('error uninstalling CSI driver from CSINode object error updating CSINode', csiNode);
      const node = () => this.#changeNode((current) => withoutDriver(current, driver));
      await this.#retried('error removing CSI driver node info from Node object error updating node', node);
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async #retried(what: string, work: () => Promise<unknown>): Promise<void> {
    const { clock, signal } = this.#options;
    const errors: string[] = [];
    for (let attempt = 0, pauseMs = firstPauseMs; attempt < attempts; attempt++, pauseMs *= pauseFactor) {
      if (attempt > 0) await sleep(clock, pauseMs, signal);
      try {
        await work();
        return;
      } catch (error) {
        signal.throwIfAborted();
        errors.push(messageOf(error));
      }
    }
    throw new Error(`${what}: timed out waiting for the condition; caused by: ${errors.at(-1)}`);
  }

  async #ownCsiNode(): Promise<CSINode> {
    const { client, nodeName: name, signal } = this.#options;
    const { uid } = (await client.get(nodes, { name }, { signal })).metadata;
    const found = await client.get(csiNodes, { name }, { signal }).catch((error) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (!found) {
      const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name, uid: uid ?? '' }];
      return client.create(csiNodes, { metadata: { name, ownerReferences }, spec: { drivers: [] } }, { signal });
    }
    const owner = found.metadata.ownerReferences?.find(({ kind }) => kind === 'Node');
    if (owner?.name === name && owner.uid === uid) return found;
    // Of a Node of that name that is no more: the next attempt makes a new one.
    await client.delete(csiNodes, { name }, { signal });
    const whose = `(oldNodeID=${quote(owner?.uid ?? '')}, newNodeID=${quote(uid ?? '')})`;
    throw new Error(`CSINode ${quote(name)} was owned by different node ${whose}, deleted it`);
  }

  async #changeCsiNode(
    change: (drivers: readonly CSINodeDriver[]) => readonly CSINodeDriver[] | undefined,
  ): Promise<void> {
    const { client, signal } = this.#options;
    const current = await this.#ownCsiNode();
    const drivers = change(current.spec.drivers ?? []);
    if (drivers) await client.update(csiNodes, { ...current, spec: { drivers } }, { signal });
  }

  async #changeNode(change: (node: Node) => NodeChange | undefined): Promise<void> {
    const { client, nodeName: name, signal } = this.#options;
    const current = await client.get(nodes, { name }, { signal });
    const metadata = change(current);
    if (!metadata) return;
    const { uid, resourceVersion } = current.metadata;
    const body = { metadata: { ...metadata, uid, resourceVersion } };
    await client.patch(nodes, { name }, { type: 'merge', body }, { signal });
  }
}

interface NodeChange {
  readonly annotations?: Readonly<Record<string, string | null>>;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Undefined where the Node is as it should be. */
function withDriver({ metadata }: Node, driver: string, { nodeId, topology }: DriverNode): NodeChange | undefined {
  const ids = nodeIds(metadata.annotations);
  const labels = metadata.labels ?? {};
  for (const [key, value] of Object.entries(topology)) {
    const present = labels[key];
    if (present !== undefined && present !== value) {
      const [reported, existing] = [`${quote(key)}:${quote(value)}`, `${quote(key)}:${quote(present)}`];
      throw new Error(
        `detected topology value collision: driver reported ${reported} but existing label is ${existing}`,
      );
    }
  }
  const isKnown = ids[driver] === nodeId && Object.keys(topology).every((key) => labels[key] !== undefined);
  if (isKnown) return undefined;
  return { annotations: { [nodeIdAnnotation]: sortedJson({ ...ids, [driver]: nodeId }) }, labels: topology };
}

function withoutDriver({ metadata }: Node, driver: string): NodeChange | undefined {
  const { [driver]: own, ...others } = nodeIds(metadata.annotations);
  if (own === undefined) return undefined;
  const text = Object.keys(others).length === 0 ? null : sortedJson(others);
  return { annotations: { [nodeIdAnnotation]: text } };
}

function nodeIds(annotations: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const text = annotations[nodeIdAnnotation];
  if (!text) return {};
  try {
    return JSON.parse(text) as Record<string, string>;
  } catch (error) {
    const value = `annotation value (${quote(text)})`;
    throw new Error(`failed to parse node's ${quote(nodeIdAnnotation)} ${value} err=${messageOf(error)}`);
  }
}

function sortedJson(map: Readonly<Record<string, string>>): string {
  return goJson(Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1))));
}

function withCsiDriver(
  drivers: readonly CSINodeDriver[],
  name: string,
  { nodeId, maxVolumes, topology }: DriverNode,
): readonly CSINodeDriver[] | undefined {
  const topologyKeys = Object.keys(topology).sort();
  const count = countOf(maxVolumes);
  const present = drivers.find((driver) => driver.name === name);
  const isKnown =
    present?.nodeID === nodeId &&
    present.allocatable?.count === count &&
    (present.topologyKeys ?? []).toSorted().join() === topologyKeys.join();
  if (isKnown) return undefined;
  const own = { name, nodeID: nodeId, topologyKeys, ...(count === undefined ? {} : { allocatable: { count } }) };
  return [...drivers.filter((driver) => driver.name !== name), own];
}

function withCount(
  drivers: readonly CSINodeDriver[],
  name: string,
  maxVolumes: number,
): readonly CSINodeDriver[] | undefined {
  const count = countOf(maxVolumes);
  const present = drivers.find((driver) => driver.name === name);
  if (!present || present.allocatable?.count === count) return undefined;
  const { allocatable: _before, ...rest } = present;
  const changed = { ...rest, ...(count === undefined ? {} : { allocatable: { count } }) };
  return drivers.map((driver) => (driver === present ? changed : driver));
}

/** Undefined: as many as one likes. */
function countOf(maxVolumes: number): number | undefined {
  return maxVolumes > 0 ? Math.min(maxVolumes, largestCount) : undefined;
}
