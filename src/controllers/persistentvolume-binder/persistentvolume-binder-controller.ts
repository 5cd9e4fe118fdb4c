/**
 * Binds claims to volumes and keeps both sides' phases true. Binding is written in four steps, volume first, each of which can be
 * done again after a crash. Volumes themselves are made and destroyed by provisioners: this controller tells them by annotation, and
 * deletes nobody's data.
 */
import { defaultStorageClassAnnotations, newestDefault } from '../../api/default-class.ts';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '../../api/gen/core-v1.ts';
import { type StorageClass, storageClasses } from '../../api/gen/storage-v1.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { keyOf } from '../../apimachinery/meta.ts';
import { formatTime } from '../../apimachinery/time.ts';
import { type CauseNote, subjectOf, subjectOfKey } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController, type ReconcileResult } from '../../reconcile/controller.ts';
import type { EventRecorder } from '../../reconcile/events.ts';
import type { Informer } from '../../reconcile/informer.ts';
import { withKind } from '../common/events.ts';
import { equalOnWire } from '../common/wire-equality.ts';
import { classOf, findVolume, isBoundTo, mismatch } from './match.ts';

const bindCompleted = 'pv.kubernetes.io/bind-completed';
const boundByController = 'pv.kubernetes.io/bound-by-controller';
const selectedNode = 'volume.kubernetes.io/selected-node';
const provisionerAnnotations = [
  'volume.beta.kubernetes.io/storage-provisioner',
  'volume.kubernetes.io/storage-provisioner',
];
const oldClassAnnotation = 'volume.beta.kubernetes.io/storage-class';
const noProvisioner = 'kubernetes.io/no-provisioner';

export async function runPersistentVolumeBinderController(context: ComponentContext): Promise<void> {
  const { informers } = context;
  const claims = informers.of(persistentVolumeClaims);
  const volumes = informers.of(persistentVolumes);
  const classes = informers.of(storageClasses);
  const binder = new Binder(context, claims, volumes, classes);
  const controller = createController(context, {
    name: 'persistentvolume-binder-controller',
    queue: 'claims',
    // One at a time: two claims must not reach for the same volume.
    workers: 1,
    waitFor: [claims, volumes, classes],
    reconcile: (key: string) =>
      key.startsWith('volume/') ? binder.volume(key.slice('volume/'.length)) : binder.claim(key),
    about: (key) =>
      key.startsWith('volume/')
        ? subjectOfKey(persistentVolumes, key.slice('volume/'.length))
        : subjectOfKey(persistentVolumeClaims, key),
  });
  const unbound = () =>
    claims
      .list()
      .filter(({ metadata }) => !metadata.annotations?.[bindCompleted])
      .map(keyOf);
  controller.watchMapped(claims, (claim) => [
    keyOf(claim),
    ...(claim.spec.volumeName ? [`volume/${claim.spec.volumeName}`] : []),
  ]);
  controller.watchMapped(volumes, ({ metadata, spec }) => {
    const claim = spec.claimRef && `${spec.claimRef.namespace}/${spec.claimRef.name}`;
    return [`volume/${metadata.name}`, ...(claim ? [claim] : unbound())];
  });
  controller.watchMapped(classes, unbound);
  await controller.run();
}

class Binder {
  readonly #context: ComponentContext;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #volumes: Informer<PersistentVolume>;
  readonly #classes: Informer<StorageClass>;
  readonly #events: EventRecorder;

  constructor(
    context: ComponentContext,
    claims: Informer<PersistentVolumeClaim>,
    volumes: Informer<PersistentVolume>,
    classes: Informer<StorageClass>,
  ) {
    this.#context = context;
    this.#claims = claims;
    this.#volumes = volumes;
    this.#classes = classes;
    this.#events = context.eventRecorder('persistentvolume-controller');
  }

  async claim(key: string): Promise<ReconcileResult | undefined> {
    const claim = this.#claims.get(key);
    if (!claim) return undefined;
    if (claim.metadata.annotations?.[bindCompleted]) await this.#boundClaim(claim);
    else if (!claim.metadata.deletionTimestamp) return { causes: await this.#unboundClaim(claim) };
    return undefined;
  }

  async #boundClaim(claim: PersistentVolumeClaim): Promise<void> {
    const { volumeName } = claim.spec;
    if (!volumeName) {
      const message = 'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!';
      return await this.#lose(claim, 'ClaimLost', message);
    }
    const volume = this.#volumes.get(volumeName);
    if (!volume) {
      const message = 'Bound claim has lost its PersistentVolume. Data on the volume is lost!';
      return await this.#lose(claim, 'ClaimLost', message);
    }
    if (!volume.spec.claimRef || isBoundTo(volume, claim)) return await this.#bind(volume, claim);
    await this.#lose(claim, 'ClaimMisbound', 'Two claims are bound to the same volume, this one is bound incorrectly');
  }

  /** Returns what holds it up, as far as the claim and its class do not tell. */
  async #unboundClaim(claim: PersistentVolumeClaim): Promise<readonly CauseNote[]> {
    const { volumeName } = claim.spec;
    if (volumeName) return await this.#requestedVolume(claim, volumeName);
    const storageClass = this.#classes.get(classOf(claim));
    const waits =
      storageClass?.volumeBindingMode === 'WaitForFirstConsumer' && !claim.metadata.annotations?.[selectedNode];
    const volume = findVolume(claim, this.#volumes.list(), waits);
    if (volume) {
      await this.#bind(volume, claim);
      return [];
    }
    if (await this.#giveDefaultClass(claim)) return [];
    if (waits) {
      const message = 'waiting for first consumer to be created before binding';
      this.#record(claim, 'Normal', 'WaitForFirstConsumer', message);
    } else if (classOf(claim) === '') {
      const message = 'no persistent volumes available for this claim and no storage class is set';
      this.#record(claim, 'Normal', 'FailedBinding', message);
    } else if (!storageClass) {
      const message = `storageclass.storage.k8s.io ${quote(classOf(claim))} not found`;
      this.#record(claim, 'Warning', 'ProvisioningFailed', message);
    } else if (storageClass.provisioner !== noProvisioner) {
      await this.#askProvisioner(claim, storageClass.provisioner);
      return [];
    }
    await this.#wait(claim);
    return unfitting(claim, this.#volumes.list());
  }

  /** A claim without a class gets the default one also when that came later; an empty name asks for a volume without. */
  async #giveDefaultClass(claim: PersistentVolumeClaim): Promise<boolean> {
    if (claim.spec.storageClassName !== undefined || claim.metadata.annotations?.[oldClassAnnotation]) return false;
    const name = newestDefault(this.#classes.list(), defaultStorageClassAnnotations)?.metadata.name;
    if (!name) return false;
    const spec = { ...claim.spec, storageClassName: name };
    await this.#context.client.update(persistentVolumeClaims, { ...claim, spec });
    return true;
  }

  async #requestedVolume(claim: PersistentVolumeClaim, name: string): Promise<readonly CauseNote[]> {
    const volume = this.#volumes.get(name);
    if (!volume) {
      await this.#wait(claim);
      return [{ reason: 'VolumeMissing', message: `there is no volume ${name}` }];
    }
    const waitsFor = [subjectOf(persistentVolumes, volume)];
    if (volume.spec.claimRef && !isBoundTo(volume, claim)) {
      this.#record(claim, 'Warning', 'FailedBinding', `volume ${quote(name)} already bound to a different claim.`);
      await this.#wait(claim);
      const { namespace, name: other } = volume.spec.claimRef;
      return [{ reason: 'FailedBinding', message: `volume ${name} belongs to claim ${namespace}/${other}`, waitsFor }];
    }
    const reason = mismatch(volume, claim);
    if (reason !== undefined) {
      const message = `Cannot bind to requested volume ${quote(name)}: ${reason}`;
      this.#record(claim, 'Warning', 'VolumeMismatch', message);
      await this.#wait(claim);
      return [{ reason: 'VolumeMismatch', message, waitsFor }];
    }
    await this.#bind(volume, claim);
    return [];
  }

  async #askProvisioner(claim: PersistentVolumeClaim, provisioner: string): Promise<void> {
    const { annotations } = claim.metadata;
    let asked = claim;
    if (!provisionerAnnotations.every((name) => annotations?.[name] === provisioner)) {
      const added = Object.fromEntries(provisionerAnnotations.map((name) => [name, provisioner]));
      const metadata = { ...claim.metadata, annotations: { ...annotations, ...added } };
      asked = await this.#context.client.update(persistentVolumeClaims, { ...claim, metadata });
    }
    const message = `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`;
    this.#record(claim, 'Normal', 'ExternalProvisioning', message);
    await this.#wait(asked);
  }

  /** Volume's reference, volume's phase, claim's reference, claim's status. */
  async #bind(volume: PersistentVolume, claim: PersistentVolumeClaim): Promise<void> {
    const { client } = this.#context;
    const bound = await this.#volumePhase(await this.#refer(volume, claim), 'Bound');
    const { annotations } = claim.metadata;
    const chosen = claim.spec.volumeName !== bound.metadata.name;
    const marks = { [bindCompleted]: 'yes', ...(chosen ? { [boundByController]: 'yes' } : {}) };
    let owner = claim;
    if (chosen || !annotations?.[bindCompleted]) {
      const metadata = { ...claim.metadata, annotations: { ...annotations, ...marks } };
      owner = await client.update(persistentVolumeClaims, {
        ...claim,
        metadata,
        spec: { ...claim.spec, volumeName: bound.metadata.name },
      });
    }
    const { accessModes } = bound.spec;
    // Of a claim that is bound the capacity is what its node has made of the volume, which may have grown since.
    const capacity = owner.status?.phase === 'Bound' ? owner.status.capacity : bound.spec.capacity;
    const status = { ...owner.status, phase: 'Bound' as const, accessModes, capacity };
    if (!equalOnWire(status, owner.status)) await client.updateStatus(persistentVolumeClaims, { ...owner, status });
  }

  async #refer(volume: PersistentVolume, { metadata }: PersistentVolumeClaim): Promise<PersistentVolume> {
    const { namespace, name, uid, resourceVersion } = metadata;
    if (volume.spec.claimRef?.uid === uid) return volume;
    const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid, resourceVersion };
    const { annotations } = volume.metadata;
    const marked = volume.spec.claimRef ? annotations : { ...annotations, [boundByController]: 'yes' };
    return await this.#context.client.update(persistentVolumes, {
      ...volume,
      metadata: { ...volume.metadata, annotations: marked },
      spec: { ...volume.spec, claimRef },
    });
  }

  async volume(name: string): Promise<void> {
    const volume = this.#volumes.get(name);
    if (!volume) return;
    const { claimRef } = volume.spec;
    if (!claimRef?.uid) {
      await this.#volumePhase(volume, 'Available');
      return;
    }
    const claim = this.#claims.get(`${claimRef.namespace}/${claimRef.name}`);
    if (claim?.metadata.uid === claimRef.uid) {
      if (claim.spec.volumeName === name) await this.#volumePhase(volume, 'Bound');
      return;
    }
    // The claim's own informer may be behind the volume's.
    if (volume.status?.phase !== 'Released' && (await this.#exists(volume))) return;
    await this.#volumePhase(volume, 'Released');
  }

  async #exists({ spec }: PersistentVolume): Promise<boolean> {
    const { namespace, name, uid } = spec.claimRef ?? {};
    const { items } = await this.#context.client.list(persistentVolumeClaims, {
      namespace,
      fieldSelector: `metadata.name=${name}`,
    });
    return items.some(({ metadata }) => metadata.uid === uid);
  }

  async #volumePhase(volume: PersistentVolume, phase: 'Available' | 'Bound' | 'Released'): Promise<PersistentVolume> {
    if (volume.status?.phase === phase) return volume;
    const lastPhaseTransitionTime = formatTime(this.#context.clock.now());
    const status = { ...volume.status, phase, message: undefined, lastPhaseTransitionTime };
    return await this.#context.client.updateStatus(persistentVolumes, { ...volume, status });
  }

  async #claimPhase(claim: PersistentVolumeClaim, phase: 'Pending' | 'Lost'): Promise<boolean> {
    if (claim.status?.phase === phase) return false;
    await this.#context.client.updateStatus(persistentVolumeClaims, { ...claim, status: { ...claim.status, phase } });
    return true;
  }

  async #wait(claim: PersistentVolumeClaim): Promise<void> {
    await this.#claimPhase(claim, 'Pending');
  }

  async #lose(claim: PersistentVolumeClaim, reason: string, message: string): Promise<void> {
    if (await this.#claimPhase(claim, 'Lost')) this.#record(claim, 'Warning', reason, message);
  }

  #record(claim: PersistentVolumeClaim, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#events.record(withKind(persistentVolumeClaims, claim), type, reason, message);
  }
}

/** Free volumes of the claim's own class, and what each lacks: others were never meant for it. */
function unfitting(claim: PersistentVolumeClaim, volumes: readonly PersistentVolume[]): readonly CauseNote[] {
  const near = volumes.filter((volume) => classOf(volume) === classOf(claim) && !volume.spec.claimRef);
  return near.slice(0, 3).map((volume) => {
    const why = mismatch(volume, claim) ?? 'its labels are not those that the claim selects';
    return { reason: 'VolumeMismatch', message: `volume ${volume.metadata.name} does not fit: ${why}` };
  });
}
