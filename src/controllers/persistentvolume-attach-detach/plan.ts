/**
 * Which volumes are to be attached to a node and which to be taken off it: pure. A volume is taken off only when its node says that it is
 * not mounted any more; a node that does not answer is not believed for ever, and one that is declared out of service not at all.
 *
 *     wanted by a Pod, no attachment            attach, unless another node has a volume that only one may have
 *     attached, wanted by no Pod                not mounted -> detach
 *                                               mounted     -> wait; after 6 min on an unhealthy node, or at once out of service -> detach
 */
import { wellKnownTaints } from '../../api/core/v1/tolerations.ts';
import type { Node, PersistentVolume, Pod } from '../../api/gen/core-v1.ts';
import type { VolumeAttachment } from '../../api/gen/storage-v1.ts';
import { isConditionTrue } from '../../apimachinery/conditions.ts';

export interface WantedVolume {
  readonly volume: PersistentVolume;
  readonly pods: readonly Pod[];
}

export interface NodeVolumes {
  readonly nodeName: string;
  /** Undefined when it is gone. */
  readonly node: Node | undefined;
  /** Of CSI volumes that need attaching. */
  readonly wanted: readonly WantedVolume[];
  /** This node's. */
  readonly attachments: readonly AttachedVolume[];
  /** Since when each attachment has been wanted by nobody, by name. */
  readonly unwantedSinceMs: ReadonlyMap<string, number>;
  readonly settings: DetachSettings;
  /** Other nodes that a volume is attached to. */
  elsewhere(volume: PersistentVolume): readonly string[];
}

export interface AttachedVolume {
  readonly attachment: VolumeAttachment;
  /** As a node's status calls it; undefined when its volume is gone and was never seen. */
  readonly uniqueName: string | undefined;
}

export interface DetachSettings {
  /** How long a node that is not healthy may say that it still uses a volume. */
  readonly longestWaitMs: number;
  /** `--disable-force-detach-on-timeout` */
  readonly neverByForce: boolean;
  /** A node that is out of service is as any other that does not answer. */
  readonly ignoresOutOfService: boolean;
}

export type VolumeStep =
  | { readonly do: 'attach'; readonly wanted: WantedVolume }
  /** Only one node may have it, and another has. */
  | { readonly do: 'refuse'; readonly wanted: WantedVolume; readonly nodes: readonly string[] }
  | { readonly do: 'detach'; readonly attached: AttachedVolume; readonly byForce: boolean }
  | { readonly do: 'wait'; readonly attached: AttachedVolume; readonly untilMs: number | undefined };

export function planVolumes(state: NodeVolumes, nowMs: number): readonly VolumeStep[] {
  const { wanted, attachments, nodeName } = state;
  const wantedNames = new Set(wanted.map(({ volume }) => volume.metadata.name));
  const steps: VolumeStep[] = [];
  for (const attached of attachments) {
    const { metadata, spec } = attached.attachment;
    if (wantedNames.has(spec.source.persistentVolumeName) || metadata.deletionTimestamp) continue;
    steps.push(planDetach(state, attached, nowMs));
  }
  const present = new Set(attachments.map(({ attachment }) => attachment.spec.source.persistentVolumeName));
  for (const one of wanted) {
    if (present.has(one.volume.metadata.name)) continue;
    const nodes = isShareable(one.volume) ? [] : state.elsewhere(one.volume).filter((other) => other !== nodeName);
    steps.push(nodes.length > 0 ? { do: 'refuse', wanted: one, nodes } : { do: 'attach', wanted: one });
  }
  return steps;
}

function planDetach(
  { node, unwantedSinceMs, settings }: NodeVolumes,
  attached: AttachedVolume,
  nowMs: number,
): VolumeStep {
  const mounted = attached.uniqueName !== undefined && (node?.status?.volumesInUse ?? []).includes(attached.uniqueName);
  if (!mounted) return { do: 'detach', attached, byForce: false };
  const isOutOfService = node?.spec.taints?.some(({ key }) => key === wellKnownTaints.outOfService);
  if (isOutOfService && !settings.ignoresOutOfService) return { do: 'detach', attached, byForce: true };
  const healthy = isConditionTrue(node?.status?.conditions, 'Ready');
  if (healthy || settings.neverByForce) return { do: 'wait', attached, untilMs: undefined };
  const untilMs = (unwantedSinceMs.get(attached.attachment.metadata.name ?? '') ?? nowMs) + settings.longestWaitMs;
  return nowMs > untilMs ? { do: 'detach', attached, byForce: true } : { do: 'wait', attached, untilMs };
}

/** More than one node may have it at a time. */
function isShareable({ spec }: PersistentVolume): boolean {
  const modes = spec?.accessModes ?? [];
  return modes.includes('ReadWriteMany') || modes.includes('ReadOnlyMany');
}
