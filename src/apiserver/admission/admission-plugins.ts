/**
 * Every admission plugin this server has, in upstream's order, and the chain of those that are switched on. Upstream's names that have
 * no implementation here yet are known, so flags that mention them are taken.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loaderFrom } from '../../base/load-on-use.ts';
import { roleEscalation } from '../authorization/role-escalation.ts';
import type { RuleResolver } from '../authorization/rule-resolver.ts';
import { AdmissionChain } from './chain.ts';
import type { CreatePlugin, PluginContext } from './plugin-context.ts';
import { alwaysPullImages } from './plugins/always-pull-images.ts';
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
  clusterTrustBundleAttest,
} from './plugins/certificates.ts';
import {
  type DefaultTolerationOptions,
  defaultTolerationSeconds,
  extendedResourceToleration,
} from './plugins/default-tolerations.ts';
import { limitRanger } from './plugins/limit-ranger.ts';
import { namespaceAutoProvision, namespaceExists } from './plugins/namespace-existence.ts';
import { namespaceLifecycle } from './plugins/namespace-lifecycle.ts';
import { defaultIngressClass, denyServiceExternalIPs } from './plugins/network.ts';
import { nodeRestriction } from './plugins/node-restriction.ts';
import { ownerReferencesPermissionEnforcement } from './plugins/owner-references.ts';
import { podSecurity } from './plugins/pod-security.ts';
import { limitPodHardAntiAffinityTopology, podTopologyLabels } from './plugins/pod-topology.ts';
import { nodeDeclaredFeatureValidator, podResizeValidator } from './plugins/pod-update-validators.ts';
import { priority } from './plugins/priority.ts';
import { resourceQuota } from './plugins/resource-quota.ts';
import { runtimeClass } from './plugins/runtime-class.ts';
import { serviceAccount } from './plugins/service-account.ts';
import { defaultStorageClass, persistentVolumeClaimResize, storageObjectInUseProtection } from './plugins/storage.ts';
import { taintNodesByCondition } from './plugins/taint-nodes-by-condition.ts';
import { mutatingAdmissionPolicy, validatingAdmissionPolicy } from './policies/policy-plugins.ts';
import { mutatingAdmissionWebhook, validatingAdmissionWebhook } from './webhooks/webhook-plugins.ts';

export interface AdmissionOptions {
  readonly context: PluginContext;
  readonly ruleResolver: RuleResolver;
  /** `--enable-admission-plugins`: beyond those on by default. */
  readonly enable?: readonly string[] | undefined;
  /** `--disable-admission-plugins`. */
  readonly disable?: readonly string[] | undefined;
  readonly tolerations?: DefaultTolerationOptions | undefined;
  /** What `--admission-control-config-file` says, by plugin. */
  readonly configurations?: ReadonlyMap<string, unknown> | undefined;
}

/** What is wrong with these names: not known, or both enabled and disabled. */
export function admissionProblems(enable: readonly string[], disable: readonly string[]): readonly string[] {
  const { order } = admissionTable();
  const unknown = (flag: string, names: readonly string[]) =>
    names.filter((name) => !order.includes(name)).map((name) => `${flag} plugin "${name}" is unknown`);
  const both = enable.filter((name) => disable.includes(name));
  return [
    ...unknown('enable-admission-plugins', enable),
    ...unknown('disable-admission-plugins', disable),
    ...(both.length > 0
      ? [`[${both.join(' ')}] in enable-admission-plugins and disable-admission-plugins overlapped`]
      : []),
  ];
}

/** Throws when a name is not known, is both enabled and disabled, or is off by a gate. */
export function createAdmission(options: AdmissionOptions): AdmissionChain {
  const { ruleResolver, enable = [], disable = [] } = options;
  let chain: AdmissionChain | undefined;
  const context: PluginContext = { ...options.context, meter: () => chain?.meter };
  const { order, defaultEnabled } = admissionTable();
  const [problem] = admissionProblems(enable, disable);
  if (problem !== undefined) throw new Error(problem);
  const known = plugins(options);
  const enabled = order.filter(
    (name) => (defaultEnabled.includes(name) || enable.includes(name)) && !disable.includes(name),
  );
  const created = enabled.flatMap((name) => known[name]?.(context, options.configurations?.get(name)) ?? []);
  chain = new AdmissionChain([roleEscalation({ authorizer: context.authorizer, resolver: ruleResolver }), ...created]);
  return chain;
}

function plugins(options: AdmissionOptions): Readonly<Record<string, CreatePlugin>> {
  return {
    AlwaysAdmit: onDemand('plugins/always.ts', 'alwaysAdmit'),
    NamespaceAutoProvision: namespaceAutoProvision,
    NamespaceLifecycle: namespaceLifecycle,
    NamespaceExists: namespaceExists,
    LimitPodHardAntiAffinityTopology: limitPodHardAntiAffinityTopology,
    LimitRanger: limitRanger,
    ServiceAccount: serviceAccount,
    NodeRestriction: nodeRestriction,
    TaintNodesByCondition: taintNodesByCondition,
    AlwaysPullImages: alwaysPullImages,
    ImagePolicyWebhook: onDemand('plugins/image-policy-webhook.ts', 'imagePolicyWebhook'),
    PodSecurity: podSecurity,
    PodNodeSelector: onDemand('plugins/pod-node-selector.ts', 'podNodeSelector'),
    Priority: priority,
    DefaultTolerationSeconds: () => defaultTolerationSeconds(options.tolerations),
    PodTolerationRestriction: onDemand('plugins/pod-toleration-restriction.ts', 'podTolerationRestriction'),
    EventRateLimit: onDemand('plugins/event-rate-limit.ts', 'eventRateLimit'),
    ExtendedResourceToleration: extendedResourceToleration,
    DefaultStorageClass: defaultStorageClass,
    StorageObjectInUseProtection: storageObjectInUseProtection,
    OwnerReferencesPermissionEnforcement: ownerReferencesPermissionEnforcement,
    PersistentVolumeClaimResize: persistentVolumeClaimResize,
    RuntimeClass: runtimeClass,
    CertificateApproval: certificateApproval,
    CertificateSigning: certificateSigning,
    ClusterTrustBundleAttest: clusterTrustBundleAttest,
    CertificateSubjectRestriction: certificateSubjectRestriction,
    DefaultIngressClass: defaultIngressClass,
    DenyServiceExternalIPs: denyServiceExternalIPs,
    PodTopologyLabels: podTopologyLabels,
    NodeDeclaredFeatureValidator: nodeDeclaredFeatureValidator,
    PodResizeValidator: podResizeValidator,
    MutatingAdmissionPolicy: mutatingAdmissionPolicy,
    MutatingAdmissionWebhook: mutatingAdmissionWebhook,
    ValidatingAdmissionPolicy: validatingAdmissionPolicy,
    ValidatingAdmissionWebhook: validatingAdmissionWebhook,
    ResourceQuota: resourceQuota,
    AlwaysDeny: onDemand('plugins/always.ts', 'alwaysDenyRequests'),
  };
}

const load = loaderFrom(import.meta.url);

/** Those that few servers use are loaded where they are. */
function onDemand(file: string, name: string): CreatePlugin {
  return (context, configuration) => load<CreatePlugin>(file, name)(context, configuration);
}

function admissionTable(): { readonly order: readonly string[]; readonly defaultEnabled: readonly string[] } {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../gen/admission.json'), 'utf8'));
}
