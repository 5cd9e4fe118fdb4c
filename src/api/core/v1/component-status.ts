/** ComponentStatuses: whether the control plane's parts are well, asked each time and never stored. */
import { nameColumn, text } from '../../columns.ts';
import { type ComponentCondition, type ComponentStatus, componentStatuses } from '../../gen/core-v1.ts';
import type { KindBehaviour } from '../../kind.ts';

export const componentStatusBehaviour: KindBehaviour<ComponentStatus> = {
  resource: componentStatuses,
  columns: [
    nameColumn,
    text('Status', statusText, { description: 'Status of the component conditions' }),
    text('Message', (status) => healthy(status)?.message ?? '', { description: 'Message of the component conditions' }),
    text('Error', (status) => healthy(status)?.error ?? '', { description: 'Error of the component conditions' }),
  ],
};

function healthy({ conditions }: ComponentStatus): ComponentCondition | undefined {
  return conditions?.find(({ type }) => type === 'Healthy');
}

function statusText(status: ComponentStatus): string {
  const condition = healthy(status);
  if (!condition) return 'Unknown';
  return condition.status === 'True' ? 'Healthy' : 'Unhealthy';
}
