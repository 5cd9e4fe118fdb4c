/** The refusal that a user sees: who cannot do what to which resource, and why. Upstream's words, for clients match on them. */
import { quote } from '../../apimachinery/go-text.ts';
import { forbidden, StatusError } from '../../apimachinery/status.ts';
import type { AuthorizationAttributes } from './authorizer.ts';

/** `pods "web" is forbidden: User "alice" cannot get resource "pods" in API group "" in the namespace "default": reason`. */
export function forbiddenError(attributes: AuthorizationAttributes, reason: string): StatusError {
  const { info } = attributes;
  const refusal = withoutHtml(refusalText(attributes));
  const resource = { group: info.group, resource: info.resource };
  return forbidden(resource, info.name, reason === '' ? refusal : `${refusal}: ${reason}`);
}

/** A refusal before anybody has looked at the request itself: a browser is told not to guess what it might be. */
export class EarlyRefusal extends StatusError {}

/** That somebody may not do what they ask for. */
export class AccessRefusal extends EarlyRefusal {
  constructor(attributes: AuthorizationAttributes, reason: string) {
    super(forbiddenError(attributes, reason).status);
  }
}

function refusalText({ user, info }: AuthorizationAttributes): string {
  const who = `User ${quote(user.name)} cannot ${info.verb}`;
  if (!info.isResource) return `${who} path ${quote(info.path)}`;
  const resource = info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`;
  const scope = info.namespace === '' ? 'at the cluster scope' : `in the namespace ${quote(info.namespace)}`;
  return `${who} resource ${quote(resource)} in API group ${quote(info.group)} ${scope}`;
}

/** A refusal repeats what the client sent, and a browser must not take it for HTML. */
export function withoutHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
