/** A webhook's no as the client hears it: the webhook's own Status, saying who said so. */
import { quote } from '../../../apimachinery/go-text.ts';
import { type Status, StatusError } from '../../../apimachinery/status.ts';

/** Tells a webhook's own no from whatever else may stop a request. */
export class Rejection extends StatusError {}

export function rejection(webhook: string, result: Status | undefined): Rejection {
  const { code = 0, status = '', message, reason } = result ?? {};
  const deniedBy = `admission webhook ${quote(webhook)} denied the request`;
  const why = message || reason;
  return new Rejection({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    ...result,
    status: status === '' || status === 'Success' ? 'Failure' : status,
    message: why ? `${deniedBy}: ${why}` : `${deniedBy} without explanation`,
    // What refuses must not look like success.
    code: Math.max(code, 400),
  });
}
