/** Services: one stable name and address for Pods that come and go. */
import { nameIsDnsLabel } from '../../../apimachinery/names.ts';
import { ageColumn, labelsText, loadBalancerText, nameColumn, text } from '../../columns.ts';
import { type Service, services } from '../../gen/core-v1.ts';
import type { KindBehaviour } from '../../kind.ts';
import { defaultService } from './service-defaults.ts';
import { dropUnusedFields } from './service-strategy.ts';
import { validateService, validateServiceStatus, validateServiceUpdate } from './service-validation.ts';

export const serviceBehaviour: KindBehaviour<Service> = {
  resource: services,
  defaults: defaultService,
  countsGeneration: false,
  allowCreateOnUpdate: true,
  validateName: nameIsDnsLabel,
  prepareForUpdate: dropUnusedFields,
  validate: (service) => validateService(service),
  validateUpdate: validateServiceUpdate,
  subresources: { status: { validateUpdate: validateServiceStatus } },
  columns: [
    nameColumn,
    text('Type', ({ spec }) => spec.type ?? ''),
    text('Cluster-IP', ({ spec }) => spec.clusterIPs?.[0] || '<none>'),
    text('External-IP', externalIpText),
    text('Port(s)', portsText),
    ageColumn,
    text('Selector', ({ spec }) => labelsText(spec.selector), { wide: true }),
  ],
};

function externalIpText({ spec, status }: Service): string {
  const externalIPs = spec.externalIPs ?? [];
  switch (spec.type) {
    case 'ClusterIP':
    case 'NodePort':
      return externalIPs.join(',') || '<none>';
    case 'LoadBalancer': {
      const balancers = loadBalancerText(status?.loadBalancer?.ingress);
      if (externalIPs.length > 0) return [balancers, ...externalIPs].filter((part) => part !== '').join(',');
      return balancers || '<pending>';
    }
    case 'ExternalName':
      return spec.externalName ?? '';
    default:
      return '<unknown>';
  }
}

function portsText({ spec }: Service): string {
  const ports = (spec.ports ?? []).map(({ port, nodePort, protocol }) =>
    nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`,
  );
  return ports.join(',') || '<none>';
}
