/** DefaultIngressClass fills in the class of an Ingress; DenyServiceExternalIPs (off by default) refuses new external addresses. */
import { newestDefault } from '../../../api/default-class.ts';
import type { Service } from '../../../api/gen/core-v1.ts';
import { type Ingress, ingressClasses } from '../../../api/gen/networking-v1.ts';
import type { Draft } from '../../../apimachinery/meta.ts';
import type { AdmissionPlugin } from '../admission.ts';
import { handling, type PluginContext, whenReady } from '../plugin-context.ts';
import { refusal } from '../refusal.ts';

export function defaultIngressClass(context: PluginContext): AdmissionPlugin {
  const informer = context.informers.of(ingressClasses);
  return {
    name: 'DefaultIngressClass',
    handles: handling(['CREATE'], 'networking.k8s.io', 'ingresses'),
    async admit(attributes) {
      const ingress = attributes.object as unknown as Draft<Ingress>;
      if (ingress.spec?.ingressClassName !== undefined && ingress.spec.ingressClassName !== null) return;
      if (ingress.metadata.annotations?.['kubernetes.io/ingress.class'] !== undefined) return;
      await whenReady(context, informer, attributes);
      const name = newestDefault(informer.list(), ['ingressclass.kubernetes.io/is-default-class'])?.metadata.name;
      if (name) ingress.spec = { ...ingress.spec, ingressClassName: name };
    },
  };
}

export function denyServiceExternalIPs(): AdmissionPlugin {
  return {
    name: 'DenyServiceExternalIPs',
    handles: handling(['CREATE', 'UPDATE'], '', 'services'),
    validate(attributes) {
      const [service, oldService] = [attributes.object, attributes.oldObject] as unknown as readonly (
        | Service
        | undefined
      )[];
      const before = new Set(oldService?.spec.externalIPs);
      if ((service?.spec.externalIPs ?? []).every((address) => before.has(address))) return;
      throw refusal(attributes, 'Use of external IPs is denied by admission control');
    },
  };
}
