/** What an autoscaler looks at, current over wanted, as one cell: `cpu: 12%/80%, 3/10 (avg) + 1 more...`. */
import { canonicalQuantity } from '../../../apimachinery/quantity.ts';
import type { MetricSpec, MetricStatus, MetricTarget, MetricValueStatus } from '../../gen/autoscaling-v2.ts';

const unknown = '<unknown>';
const mostShown = 2;

export function metricsText(specs: readonly MetricSpec[] = [], statuses: readonly MetricStatus[] = []): string {
  if (specs.length === 0) return '<none>';
  const texts = specs.map((spec, index) => metricText(spec, statuses[index]));
  const shown = texts.slice(0, mostShown).join(', ');
  return texts.length > mostShown ? `${shown} + ${texts.length - mostShown} more...` : shown;
}

function metricText(spec: MetricSpec, status: MetricStatus | undefined): string {
  switch (spec.type) {
    case 'External':
      return rawText(spec.external?.target, status?.external?.current);
    case 'Object':
      return rawText(spec.object?.target, status?.object?.current);
    case 'Pods':
      return `${amount(status?.pods?.current?.averageValue)}/${amount(spec.pods?.target?.averageValue)}`;
    case 'Resource':
      return `${spec.resource?.name}: ${usageText(spec.resource?.target, status?.resource?.current)}`;
    case 'ContainerResource': {
      const { name, target } = spec.containerResource ?? {};
      return `${name}: ${usageText(target, status?.containerResource?.current)}`;
    }
    default:
      return '<unknown type>';
  }
}

function rawText(target: MetricTarget | undefined, current: MetricValueStatus | undefined): string {
  if (target?.averageValue != null) return `${amount(current?.averageValue)}/${amount(target.averageValue)} (avg)`;
  return `${amount(current?.value)}/${amount(target?.value)}`;
}

function usageText(target: MetricTarget | undefined, current: MetricValueStatus | undefined): string {
  if (target?.averageValue != null) return `${amount(current?.averageValue)}/${amount(target.averageValue)}`;
  const { averageUtilization: usage } = current ?? {};
  const wanted = target?.averageUtilization;
  return `${usage == null ? unknown : `${usage}%`}/${wanted == null ? '<auto>' : `${wanted}%`}`;
}

function amount(quantity: string | undefined): string {
  return quantity == null ? unknown : canonicalQuantity(quantity);
}
