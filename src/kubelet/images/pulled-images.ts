/**
 * Remembers with whose credentials an image came to the node, so that it is not given to Pods that could not have pulled it. Kept in
 * upstream's files: an intent below `image_manager/pulling` while a pull is under way, a record below `image_manager/pulled` afterwards.
 * A pull whose end was not noted (the kubelet died) leaves a record without credentials: the next user must show his.
 */
import { createHash } from 'node:crypto';
import { messageOf } from '../../apimachinery/status.ts';
import { formatTime, timeOr } from '../../apimachinery/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { StateFolder } from '../host/host.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { Image } from '../runtime/runtime.ts';
import type { Coordinates, SourcedCredentials } from './credentials.ts';
import { withoutTag } from './image-names.ts';
import { mustVerify, type PullVerification } from './pull-verification.ts';

export interface PulledImagesOptions {
  readonly state: StateFolder;
  readonly clock: Clock;
  readonly log: Log;
  readonly verification: PullVerification;
  readonly metrics?: KubeletMetrics | undefined;
}

/** Whether credentials were asked for again, as metrics call it. */
type PullCheck = 'credentialPolicyAllowed' | 'credentialRecordFound' | 'mustAuthenticate' | 'error';

interface PullSecret extends Coordinates {
  readonly credentialHash: string;
}

interface Access {
  readonly kubernetesSecrets?: readonly PullSecret[] | undefined;
  readonly kubernetesServiceAccounts?: readonly Coordinates[] | undefined;
  /** It came without credentials, or with the node's own. */
  readonly nodePodsAccessible?: boolean | undefined;
}

interface PulledRecord {
  readonly lastUpdatedTime: string;
  readonly imageRef: string;
  /** By the image's name without tag and digest. */
  readonly credentialMapping: Readonly<Record<string, Access>>;
}

const apiVersion = 'kubelet.config.k8s.io/v1beta1';
const pulling = 'image_manager/pulling';
const pulled = 'image_manager/pulled';
const fileOf = (folder: string, name: string) => `${folder}/sha256-${createHash('sha256').update(name).digest('hex')}`;
/** A Pod that shows the right credentials under another name is remembered, too, up to so many. */
const mostSecretsNoted = 100;

export class PulledImages {
  readonly #options: PulledImagesOptions;
  /** Pulls under way, by image. */
  readonly #intents = new Map<string, number>();
  /** Files are read and written one operation at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: PulledImagesOptions) {
    this.#options = options;
  }

  /** Pulls that an earlier kubelet did not see the end of count as pulled, where the image is there. */
  async restore(listImages: () => Promise<readonly Image[]>): Promise<void> {
    const { state, log } = this.#options;
    await this.#inTurn(async () => {
      const files = await state.names(pulling);
      if (files.length === 0) return;
      const images = await listImages();
      for (const name of files) {
        const { image } = (await this.#read<{ image: string }>(`${pulling}/${name}`)) ?? {};
        const present = images.find(
          ({ repoTags, repoDigests }) => image && [...repoTags, ...repoDigests].includes(image),
        );
        if (image && present) await this.#note(image, present.id, undefined);
        await state.remove(`${pulling}/${name}`);
      }
    }).catch((error) => log.error('could not read records of pulls', { error: messageOf(error) }));
  }

  /** Rejects when it cannot be written: then nothing may be pulled. */
  async begin(image: string): Promise<void> {
    await this.#inTurn(async () => {
      const intent = { kind: 'ImagePullIntent', apiVersion, image };
      await this.#options.state.write(fileOf(pulling, image), JSON.stringify(intent));
      this.#intents.set(image, (this.#intents.get(image) ?? 0) + 1);
    });
  }

  /** `used` is undefined where the image came without credentials. A record that cannot be written leaves the intent. */
  async succeed(image: string, imageId: string, used: SourcedCredentials | undefined): Promise<void> {
    try {
      await this.#inTurn(() => this.#note(image, imageId, accessOf(used)));
    } catch (error) {
      this.#options.log.error('failed to write image pulled record', { image, error: messageOf(error) });
      return;
    }
    await this.end(image);
  }

  /** The pull is over, well or not. */
  async end(image: string): Promise<void> {
    const { state, log } = this.#options;
    await this.#inTurn(async () => {
      const left = (this.#intents.get(image) ?? 1) - 1;
      if (left === 0) {
        await state.remove(fileOf(pulling, image));
        this.#intents.delete(image);
      } else this.#intents.set(image, left);
    }).catch((error) => log.error('failed to remove image pull intent', { image, error: messageOf(error) }));
  }

  /** Whether a Pod with such credentials may have the image only after a pull of its own. They are asked for when they matter. */
  async mustPull(
    image: string,
    imageId: string,
    credentials: () => Promise<readonly SourcedCredentials[]>,
  ): Promise<boolean> {
    let result: PullCheck = 'error';
    try {
      result = await this.#check(image, imageId, credentials);
    } finally {
      this.#options.metrics?.count('imagemanager_image_mustpull_checks_total', { result });
    }
    return result === 'mustAuthenticate';
  }

  async #check(
    image: string,
    imageId: string,
    credentials: () => Promise<readonly SourcedCredentials[]>,
  ): Promise<PullCheck> {
    const record = await this.#inTurn(() => this.#read<PulledRecord>(fileOf(pulled, imageId)));
    const isPulled = record !== undefined || (await this.#isIntended(image));
    if (!mustVerify(this.#options.verification, image, isPulled)) return 'credentialPolicyAllowed';
    const access = record?.credentialMapping?.[withoutTag(image)];
    if (!access) return 'mustAuthenticate';
    if (access.nodePodsAccessible) return 'credentialRecordFound';
    const { kubernetesSecrets = [], kubernetesServiceAccounts = [] } = access;
    if (kubernetesSecrets.length === 0 && kubernetesServiceAccounts.length === 0) return 'mustAuthenticate';
    for (const shown of await credentials()) {
      const { source, hash } = shown;
      if (source?.kind === 'serviceAccount' && kubernetesServiceAccounts.some((known) => isSame(known, source)))
        return 'credentialRecordFound';
      if (source?.kind !== 'secret') continue;
      const isKnown = kubernetesSecrets.some((known) => known.credentialHash === hash || isSame(known, source));
      if (!isKnown) continue;
      if (kubernetesSecrets.length < mostSecretsNoted)
        await this.#inTurn(() => this.#note(image, imageId, accessOf(shown))).catch(() => undefined);
      return 'credentialRecordFound';
    }
    return 'mustAuthenticate';
  }

  /** Forgets images that are gone, but for what was noted since then. */
  async prune(images: readonly Image[], sinceMs: number): Promise<void> {
    const { state, log } = this.#options;
    const present = new Set(images.map(({ id }) => id));
    await this.#inTurn(async () => {
      for (const name of await state.names(pulled)) {
        const record = await this.#read<PulledRecord>(`${pulled}/${name}`);
        if (!record || present.has(record.imageRef) || timeOr(record.lastUpdatedTime, sinceMs) >= sinceMs) continue;
        await state.remove(`${pulled}/${name}`);
      }
    }).catch((error) => log.error('failed to remove records of pulls', { error: messageOf(error) }));
  }

  async #isIntended(image: string): Promise<boolean> {
    if (this.#intents.has(image)) return true;
    return (await this.#options.state.read(fileOf(pulling, image))) !== undefined;
  }

  async #note(image: string, imageId: string, access: Access | undefined): Promise<void> {
    const { state, clock } = this.#options;
    const file = fileOf(pulled, imageId);
    const record = await this.#read<PulledRecord>(file);
    const name = withoutTag(image);
    const before = record?.credentialMapping?.[name];
    const after = before && access ? joined(before, access) : (access ?? before);
    if (record && (after === undefined || JSON.stringify(after) === JSON.stringify(before))) return;
    const credentialMapping = { ...record?.credentialMapping, ...(after ? { [name]: after } : {}) };
    const lastUpdatedTime = formatTime(clock.now());
    const content = { kind: 'ImagePulledRecord', apiVersion, lastUpdatedTime, imageRef: imageId, credentialMapping };
    await state.write(file, JSON.stringify(content));
  }

  /** One that cannot be read counts as not there: who wants the image must show credentials, or pull it. */
  async #read<T>(file: string): Promise<T | undefined> {
    const text = await this.#options.state.read(file);
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      this.#options.log.warn('a record of a pull is damaged', { file, error: messageOf(error) });
      return {} as T;
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work, work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

function accessOf(used: SourcedCredentials | undefined): Access {
  if (!used?.source) return { nodePodsAccessible: true };
  const { kind, uid, namespace, name } = used.source;
  const coordinates = { uid, namespace, name };
  return kind === 'secret'
    ? { kubernetesSecrets: [{ ...coordinates, credentialHash: used.hash }] }
    : { kubernetesServiceAccounts: [coordinates] };
}

/** Once all Pods of the node may have it, nobody else needs to be known. */
function joined(before: Access, more: Access): Access {
  if (before.nodePodsAccessible || more.nodePodsAccessible) return { nodePodsAccessible: true };
  const secrets = withNew(before.kubernetesSecrets, more.kubernetesSecrets);
  const accounts = withNew(before.kubernetesServiceAccounts, more.kubernetesServiceAccounts);
  return {
    ...(secrets.length > 0 ? { kubernetesSecrets: secrets } : {}),
    ...(accounts.length > 0 ? { kubernetesServiceAccounts: accounts } : {}),
  };
}

/** Each once, the newer one of two, in the order of namespace, name and uid. */
function withNew<T extends Coordinates>(before: readonly T[] = [], more: readonly T[] = []): readonly T[] {
  const all = new Map([...before, ...more].map((one) => [orderKey(one), one]));
  return [...all.keys()].sort().map((key) => all.get(key)!);
}

const orderKey = ({ namespace, name, uid }: Coordinates) => `${namespace}/${name}/${uid}`;
const isSame = (a: Coordinates, b: Coordinates) => orderKey(a) === orderKey(b);
