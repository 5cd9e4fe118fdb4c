/**
 * What claims and volumes get and may: a default storage class, a finalizer that keeps them while in use, and growth only where the
 * class allows it.
 */
import { defaultStorageClassAnnotations, newestDefault } from '../../../api/default-class.ts';
import type { PersistentVolumeClaim } from '../../../api/gen/core-v1.ts';
import { storageClasses } from '../../../api/gen/storage-v1.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import { parseQuantity } from '../../../apimachinery/quantity.ts';
import type { AdmissionPlugin } from '../admission.ts';
import { handling, type PluginContext, whenReady } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';

const oldClassAnnotation = 'volume.beta.kubernetes.io/storage-class';

export function defaultStorageClass(context: PluginContext): AdmissionPlugin {
  const informer = context.informers.of(storageClasses);
  return {
    name: 'DefaultStorageClass',
    handles: handling(['CREATE'], '', 'persistentvolumeclaims'),
    async admit(attributes) {
      const claim = attributes.object as unknown as Draft<PersistentVolumeClaim>;
      const { storageClassName } = claim.spec;
      // An empty name asks for a volume without class.
      if (storageClassName !== undefined && storageClassName !== null) return;
      if (claim.metadata.annotations?.[oldClassAnnotation] !== undefined) return;
      await whenReady(context, informer, attributes);
      const name = newestDefault(informer.list(), defaultStorageClassAnnotations)?.metadata.name;
      if (name) claim.spec.storageClassName = name;
    },
  };
}

const protection: Readonly<Record<string, string>> = {
  'persistentvolumes.': 'kubernetes.io/pv-protection',
  'persistentvolumeclaims.': 'kubernetes.io/pvc-protection',
  'volumeattributesclasses.storage.k8s.io': 'kubernetes.io/vac-protection',
};

export function storageObjectInUseProtection(): AdmissionPlugin {
  return {
    name: 'StorageObjectInUseProtection',
    handles: (operation, { resource, group }, subresource) =>
      operation === 'CREATE' && subresource === '' && Object.hasOwn(protection, `${resource}.${group}`),
    admit({ object, resource }) {
      const finalizer = protection[`${resource.resource}.${resource.group}`]!;
      const metadata = object!.metadata;
      if (!metadata.finalizers?.includes(finalizer)) metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
    },
  };
}

export function persistentVolumeClaimResize(context: PluginContext): AdmissionPlugin {
  const informer = context.informers.of(storageClasses);
  return {
    name: 'PersistentVolumeClaimResize',
    handles: handling(['UPDATE'], '', 'persistentvolumeclaims'),
    async validate(attributes) {
      const [claim, oldClaim] = [
        attributes.object,
        attributes.oldObject,
      ] as unknown as readonly PersistentVolumeClaim[];
      const size = (of: PersistentVolumeClaim | undefined) =>
        parseQuantity(of?.spec.resources?.requests?.storage ?? '0');
      if (size(claim).compare(size(oldClaim)) <= 0) return;
      if (oldClaim?.status?.phase !== 'Bound')
        throw refusal(attributes, 'Only bound persistent volume claims can be expanded');
      await whenReady(context, informer, attributes);
      const name = classOf(claim!);
      if (name && name === classOf(oldClaim) && informer.get(name)?.allowVolumeExpansion) return;
      throw refusal(
        attributes,
        'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
      );
    },
  };
}

function classOf(claim: PersistentVolumeClaim): string {
  return claim.metadata.annotations?.[oldClassAnnotation] ?? claim.spec.storageClassName ?? '';
}
