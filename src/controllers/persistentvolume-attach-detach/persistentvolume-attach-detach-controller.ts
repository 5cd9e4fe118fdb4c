/**
 * Has CSI volumes attached to the nodes whose Pods use them, and detached afterwards: by VolumeAttachments, which the drivers' attachers
 * act on. A node's status says what is attached to it, before its kubelet mounts it and after that lets it go.
 */
import { createHash } from 'node:crypto';
import { isPodTerminal } from '../../api/core/v1/pod-status.ts';
import {
  nodes as nodeType,
  type PersistentVolume,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods as podType,
} from '../../api/gen/core-v1.ts';
import { csiDrivers, type VolumeAttachment, volumeAttachments } from '../../api/gen/storage-v1.ts';
import { isAlreadyExists, isNotFound } from '../../apimachinery/status.ts';
import type { CauseNote } from '../../reconcile/causes.ts';
import type { ComponentContext } from '../../reconcile/component.ts';
import { createController, type ReconcileResult } from '../../reconcile/controller.ts';
import type { EventRecorder } from '../../reconcile/events.ts';
import { withKind } from '../common/events.ts';
import { indexByNode, podsOnNode } from '../common/node-pods.ts';
import { claimKeysOf } from '../common/pod-claims.ts';
import { type AttachedVolume, planVolumes, type VolumeStep, type WantedVolume } from './plan.ts';

export interface AttachDetachOptions {
  /** `--attach-detach-reconcile-sync-period`: how often a node is looked at though nothing changed; default a minute. */
  readonly syncPeriodMs?: number | undefined;
  /** `--disable-attach-detach-reconcile-sync` */
  readonly syncDisabled?: boolean | undefined;
  /** `--disable-force-detach-on-timeout` */
  readonly neverByForce?: boolean | undefined;
  /** The taint `out-of-service` means nothing (gate `NodeOutOfServiceVolumeDetach` off); default false. */
  readonly ignoresOutOfService?: boolean | undefined;
}

const managedAnnotation = 'volumes.kubernetes.io/controller-managed-attach-detach';
const longestWaitMs = 6 * 60_000;
const byNode = 'attach-detach/node';
const byVolume = 'attach-detach/volume';
const byClaim = 'attach-detach/claim';

export async function runAttachDetachController(
  context: ComponentContext,
  options: AttachDetachOptions = {},
): Promise<void> {
  const loop = new AttachLoop(context, options);
  await loop.run();
}

class AttachLoop {
  readonly #context: ComponentContext;
  readonly #options: AttachDetachOptions;
  readonly #events: EventRecorder;
  readonly #nodes;
  readonly #pods;
  readonly #claims;
  readonly #volumes;
  readonly #drivers;
  readonly #attachments;
  /** By name of the attachment. */
  readonly #unwantedSinceMs = new Map<string, number>();
  /** What volumes are called in nodes' statuses, also those that are gone by now. */
  readonly #uniqueNames = new Map<string, string>();
  /** By uid of the attachment. */
  readonly #told = new Map<string, string>();
  /** Nodes that want a volume which another has. */
  readonly #refused = new Map<string, Set<string>>();

  constructor(context: ComponentContext, options: AttachDetachOptions) {
    const { informers } = context;
    this.#context = context;
    this.#options = options;
    this.#events = context.eventRecorder('attachdetach-controller');
    this.#nodes = informers.of(nodeType);
    this.#pods = informers.of(podType);
    this.#claims = informers.of(persistentVolumeClaims);
    this.#volumes = informers.of(persistentVolumes);
    this.#drivers = informers.of(csiDrivers);
    this.#attachments = informers.of(volumeAttachments);
    indexByNode(this.#pods);
    this.#pods.addIndex(byClaim, claimKeysOf);
    this.#attachments.addIndex(byNode, ({ spec }) => [spec.nodeName]);
    this.#attachments.addIndex(byVolume, ({ spec }) => [spec.source.persistentVolumeName ?? '']);
  }

  async run(): Promise<void> {
    const controller = createController(this.#context, {
      name: 'persistentvolume-attach-detach-controller',
      waitFor: [this.#pods, this.#claims, this.#volumes, this.#drivers, this.#attachments],
      reconcile: (nodeName) => this.#reconcile(nodeName),
    });
    controller.watch(this.#nodes);
    const nodeOf = (pod: Pod) => (pod.spec.nodeName && claimKeysOf(pod).length > 0 ? [pod.spec.nodeName] : []);
    controller.watchMapped(this.#pods, nodeOf);
    const usersOf = (key: string) => this.#pods.byIndex(byClaim, key).flatMap(nodeOf);
    controller.watchMapped(this.#claims, ({ metadata }) => usersOf(`${metadata.namespace}/${metadata.name}`));
    controller.watchMapped(this.#volumes, ({ spec }) =>
      spec?.claimRef ? usersOf(`${spec.claimRef.namespace}/${spec.claimRef.name}`) : [],
    );
    controller.watchMapped(this.#attachments, ({ spec }) => [
      spec.nodeName,
      ...(this.#refused.get(spec.source.persistentVolumeName ?? '') ?? []),
    ]);
    await controller.run();
  }

  async #reconcile(nodeName: string): Promise<ReconcileResult> {
    const { clock } = this.#context;
    const { neverByForce = false, ignoresOutOfService = false } = this.#options;
    const node = this.#nodes.get(nodeName);
    const managed = !node || node.metadata.annotations?.[managedAnnotation] === 'true';
    if (!managed) return {};
    const attachments = this.#attachedTo(nodeName);
    const wanted = this.#wantedBy(nodeName);
    this.#noteUnwanted(attachments, wanted);
    const steps = planVolumes(
      {
        nodeName,
        node,
        wanted: node ? wanted : [],
        attachments,
        unwantedSinceMs: this.#unwantedSinceMs,
        settings: { longestWaitMs, neverByForce, ignoresOutOfService },
        elsewhere: ({ metadata }) =>
          this.#attachments.byIndex(byVolume, metadata.name ?? '').map(({ spec }) => spec.nodeName),
      },
      clock.now(),
    );
    const going = steps.flatMap((step) => (step.do === 'detach' ? [step.attached.attachment.metadata.name] : []));
    await this.#report(
      nodeName,
      attachments.filter(({ attachment }) => !going.includes(attachment.metadata.name)),
    );
    const causes: CauseNote[] = [];
    for (const step of steps) causes.push(...(await this.#take(nodeName, step)));
    this.#tellOutcomes(attachments, wanted);
    const untilMs = steps.flatMap((step) =>
      step.do === 'wait' && step.untilMs ? [step.untilMs - clock.now() + 1] : [],
    );
    const again = [
      ...untilMs,
      ...(this.#options.syncDisabled || steps.length === 0 ? [] : [this.#options.syncPeriodMs ?? 60_000]),
    ];
    return { causes, againAfterMs: again.length === 0 ? undefined : Math.max(1, Math.min(...again)) };
  }

  async #take(nodeName: string, step: VolumeStep): Promise<readonly CauseNote[]> {
    const { client, log } = this.#context;
    if (step.do === 'attach') {
      await this.#attach(nodeName, step.wanted.volume);
      return [];
    }
    if (step.do === 'refuse') {
      const name = step.wanted.volume.metadata.name ?? '';
      this.#refused.set(name, (this.#refused.get(name) ?? new Set()).add(nodeName));
      const message = `Multi-Attach error for volume ${JSON.stringify(name)} Volume is already exclusively attached to one node and can't be attached to another`;
      this.#tell(step.wanted.pods, 'Warning', 'FailedAttachVolume', message);
      return [{ reason: 'AttachedElsewhere', message: `volume ${name} is attached to node ${step.nodes.join(', ')}` }];
    }
    const { attachment } = step.attached;
    const name = attachment.metadata.name ?? '';
    if (step.do === 'wait') {
      const message = `volume ${attachment.spec.source.persistentVolumeName} is used by no Pod any more, and the node says that it is still mounted`;
      return [{ reason: 'StillMounted', message, untilMs: step.untilMs }];
    }
    if (step.byForce)
      log.warn('detaching a volume that its node has not unmounted', { node: nodeName, attachment: name });
    await client.delete(volumeAttachments, { name }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    this.#unwantedSinceMs.delete(name);
    this.#told.delete(attachment.metadata.uid ?? '');
    return [];
  }

  async #attach(nodeName: string, { metadata, spec }: PersistentVolume): Promise<void> {
    const { driver, volumeHandle } = spec!.csi!;
    const name = attachmentName(volumeHandle, driver, nodeName);
    this.#refused.get(metadata.name ?? '')?.delete(nodeName);
    const wanted: VolumeAttachment = {
      metadata: { name },
      spec: { attacher: driver, nodeName, source: { persistentVolumeName: metadata.name } },
    };
    await this.#context.client.create(volumeAttachments, wanted).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }

  /** The volumes of the node's Pods that have not ended; those of drivers that attach nothing are left to the kubelet. */
  #wantedBy(nodeName: string): readonly WantedVolume[] {
    const found = new Map<string, { volume: PersistentVolume; pods: Pod[] }>();
    for (const pod of podsOnNode(this.#pods, nodeName)) {
      if (isPodTerminal(pod)) continue;
      for (const key of claimKeysOf(pod)) {
        const claim = this.#claims.get(key);
        const volume = this.#volumes.get(claim?.spec?.volumeName ?? '');
        const csi = volume?.spec?.csi;
        const bound = volume?.spec?.claimRef?.uid === claim?.metadata.uid && claim?.status?.phase === 'Bound';
        if (!volume || !csi || !bound || this.#drivers.get(csi.driver)?.spec.attachRequired === false) continue;
        const name = volume.metadata.name ?? '';
        this.#uniqueNames.set(name, `kubernetes.io/csi/${csi.driver}^${csi.volumeHandle}`);
        const known = found.get(name) ?? { volume, pods: [] };
        known.pods.push(pod);
        found.set(name, known);
      }
    }
    return [...found.values()];
  }

  #attachedTo(nodeName: string): readonly AttachedVolume[] {
    return this.#attachments.byIndex(byNode, nodeName).flatMap((attachment) => {
      const name = attachment.spec.source.persistentVolumeName;
      if (!name) return [];
      const csi = this.#volumes.get(name)?.spec?.csi;
      if (csi) this.#uniqueNames.set(name, `kubernetes.io/csi/${csi.driver}^${csi.volumeHandle}`);
      const uniqueName = this.#uniqueNames.get(name);
      // Of a volume that was never seen here: somebody else's attachment.
      return uniqueName === undefined ? [] : [{ attachment, uniqueName }];
    });
  }

  #noteUnwanted(attachments: readonly AttachedVolume[], wanted: readonly WantedVolume[]): void {
    const names = new Set(wanted.map(({ volume }) => volume.metadata.name));
    for (const { attachment } of attachments) {
      const { name = '' } = attachment.metadata;
      if (names.has(attachment.spec.source.persistentVolumeName)) this.#unwantedSinceMs.delete(name);
      else if (!this.#unwantedSinceMs.has(name)) this.#unwantedSinceMs.set(name, this.#context.clock.now());
    }
  }

  /** The node's status first: a kubelet must not mount what is about to be taken away. */
  async #report(nodeName: string, attachments: readonly AttachedVolume[]): Promise<void> {
    const node = this.#nodes.get(nodeName);
    if (!node) return;
    const volumesAttached = attachments
      .filter(
        ({ attachment, uniqueName }) =>
          uniqueName && attachment.status?.attached && !attachment.metadata.deletionTimestamp,
      )
      .map(({ uniqueName }) => ({ name: uniqueName!, devicePath: '' }))
      .sort((a, b) => a.name.localeCompare(b.name));
    const before = (node.status?.volumesAttached ?? []).map(({ name }) => name).toSorted();
    if (JSON.stringify(before) === JSON.stringify(volumesAttached.map(({ name }) => name))) return;
    const body = { status: { volumesAttached } };
    await this.#context.client.patch(nodeType, { name: nodeName }, { type: 'merge', body }, { subresource: 'status' });
  }

  /** To the Pods that wait: that it succeeded, or what the driver says went wrong. */
  #tellOutcomes(attachments: readonly AttachedVolume[], wanted: readonly WantedVolume[]): void {
    for (const { volume, pods } of wanted) {
      const name = volume.metadata.name ?? '';
      const found = attachments.find(
        ({ attachment }) => attachment.spec.source.persistentVolumeName === name,
      )?.attachment;
      const status = found?.status;
      const outcome = status?.attached ? 'attached' : status?.attachError?.time;
      // Told once for each outcome, not whenever somebody looks.
      if (!found || outcome === undefined || this.#told.get(found.metadata.uid ?? '') === outcome) continue;
      this.#told.set(found.metadata.uid ?? '', outcome);
      const waiting = pods.filter((pod) => (pod.status?.phase ?? 'Pending') === 'Pending');
      const error = status?.attachError?.message;
      if (status?.attached)
        this.#tell(
          waiting,
          'Normal',
          'SuccessfulAttachVolume',
          `AttachVolume.Attach succeeded for volume ${JSON.stringify(name)} `,
        );
      else if (error)
        this.#tell(
          waiting,
          'Warning',
          'FailedAttachVolume',
          `AttachVolume.Attach failed for volume ${JSON.stringify(name)} : ${error}`,
        );
    }
  }

  #tell(pods: readonly Pod[], type: 'Normal' | 'Warning', reason: string, message: string): void {
    for (const pod of pods) this.#events.record(withKind(podType, pod), type, reason, message);
  }
}

/** As upstream derives it, so that attachments of either's making are found again. */
function attachmentName(volumeHandle: string, driver: string, nodeName: string): string {
  return `csi-${createHash('sha256').update(`${volumeHandle}${driver}${nodeName}`).digest('hex')}`;
}
