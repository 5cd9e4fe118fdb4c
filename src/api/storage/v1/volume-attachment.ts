/** VolumeAttachments: that a volume is, or is to be, attached to a node. */
import {
  type FieldError,
  type FieldPath,
  forbidden,
  path,
  required,
  tooLong,
} from '../../../apimachinery/field-error.ts';
import { byteLength } from '../../../apimachinery/names.ts';
import { ageColumn, boolean, nameColumn, text } from '../../columns.ts';
import { validateVolumeSpec } from '../../core/v1/persistent-volume-validation.ts';
import { roundToMilli } from '../../core/v1/resource-defaults.ts';
import { defaultSharedSources } from '../../core/v1/volume-defaults.ts';
import { validateCsiDriverName } from '../../core/v1/volume-validation.ts';
import {
  type VolumeAttachment,
  type VolumeAttachmentSource,
  type VolumeError,
  volumeAttachments,
} from '../../gen/storage-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { statusKeepsMetadata } from '../../strategy.ts';
import { entriesOf, largestInt32, validateDnsSubdomain, validateImmutable, validateRange } from '../../validation.ts';

const mostMetadataBytes = 256 * 1024;
const longestError = 1024;

export const volumeAttachmentBehaviour: KindBehaviour<VolumeAttachment> = {
  resource: volumeAttachments,
  defaults({ spec }) {
    const inline = spec?.source?.inlineVolumeSpec;
    if (!inline) return;
    defaultSharedSources(inline);
    roundToMilli(inline.capacity);
  },
  allowUnconditionalUpdate: false,
  countsGeneration: false,
  validate,
  validateUpdate: (attachment, previous) => [
    ...validate(attachment),
    ...validateImmutable(path('spec'), attachment.spec, previous.spec),
  ],
  subresources: {
    status: { ...statusKeepsMetadata, validateUpdate: (attachment) => validateStatus(attachment) },
  },
  columns: [
    nameColumn,
    { ...text<VolumeAttachment>('Attacher', ({ spec }) => spec.attacher), format: 'name' },
    text('PV', ({ spec }) => spec.source?.persistentVolumeName ?? ''),
    text('Node', ({ spec }) => spec.nodeName),
    boolean('Attached', ({ status }) => status?.attached ?? false),
    ageColumn,
  ],
};

function validate(attachment: VolumeAttachment): FieldError[] {
  const { spec } = attachment;
  const at = path('spec');
  const volumeName = spec.source?.persistentVolumeName;
  return [
    ...validateCsiDriverName(at.child('attacher'), spec.attacher ?? ''),
    ...validateSource(at.child('source'), spec.source ?? {}),
    ...validateDnsSubdomain(at.child('nodeName'), spec.nodeName ?? ''),
    ...validateStatus(attachment),
    ...(volumeName != null ? validateDnsSubdomain(path('spec.source.persistentVolumeName'), volumeName) : []),
  ];
}

function validateSource(
  at: FieldPath,
  { inlineVolumeSpec, persistentVolumeName }: VolumeAttachmentSource,
): FieldError[] {
  const message = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';
  if (!inlineVolumeSpec && persistentVolumeName == null) return [required(at, message)];
  if (inlineVolumeSpec && persistentVolumeName != null) return [forbidden(at, message)];
  if (inlineVolumeSpec) {
    return validateVolumeSpec(at.child('inlineVolumeSpec'), inlineVolumeSpec, { name: '', inline: true });
  }
  if (persistentVolumeName !== '') return [];
  return [required(at.child('persistentVolumeName'), 'must specify non empty persistentVolumeName')];
}

function validateStatus({ status }: VolumeAttachment): FieldError[] {
  const at = path('status');
  const metadata = entriesOf(status?.attachmentMetadata);
  const size = metadata.reduce((sum, [key, value]) => sum + byteLength(key) + byteLength(value), 0);
  return [
    ...(size > mostMetadataBytes ? [tooLong(at.child('attachmentMetadata'), mostMetadataBytes)] : []),
    ...validateError(at.child('attachError'), status?.attachError),
    ...validateError(at.child('detachError'), status?.detachError),
  ];
}

function validateError(at: FieldPath, error: VolumeError | undefined): FieldError[] {
  if (!error) return [];
  // Upstream names the other limit here.
  const long = byteLength(error.message ?? '') > longestError ? [tooLong(at.child('message'), mostMetadataBytes)] : [];
  return [...long, ...validateRange(at.child('errorCode'), error.errorCode, 0, largestInt32)];
}
