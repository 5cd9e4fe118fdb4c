/** Where a webhook is called: at an https URL, or at a Service of the cluster. Also used for conversion webhooks. */
import { type FieldError, type FieldPath, invalid, required } from '../../apimachinery/field-error.ts';
import { dns1123Subdomain, portNumber } from '../../apimachinery/names.ts';
import type { ServiceReference, WebhookClientConfig } from '../gen/admissionregistration-v1.ts';

const urlForm = '; desired format: https://host[/path]';

export function validateWebhookClient(
  at: FieldPath,
  client: WebhookClientConfig | undefined,
  { saysWhatIsMissing = true } = {},
): FieldError[] {
  const { url, service } = client ?? {};
  if ((url == null) === (service == null)) return [required(at, 'exactly one of url or service is required')];
  if (url != null) return validateUrl(at.child('url'), url);
  return validateService(at.child('service'), service!, saysWhatIsMissing);
}

function validateUrl(at: FieldPath, text: string): FieldError[] {
  const url = URL.parse(text);
  if (!url) {
    if (!/^[a-z][a-z0-9+.-]*:/i.test(text)) {
      return [
        invalid(at, '', `'https' is the only allowed URL scheme${urlForm}`),
        invalid(at, '', `host must be specified${urlForm}`),
      ];
    }
    return [required(at, `url must be a valid URL: parse ${JSON.stringify(text)}: invalid URL${urlForm}`)];
  }
  const scheme = url.protocol.slice(0, -1);
  const errors: FieldError[] = [];
  if (scheme !== 'https') errors.push(invalid(at, scheme, `'https' is the only allowed URL scheme${urlForm}`));
  if (url.host === '') errors.push(invalid(at, '', `host must be specified${urlForm}`));
  const user = url.password === '' ? url.username : `${url.username}:${url.password}`;
  if (user !== '') errors.push(invalid(at, user, 'user information is not permitted in the URL'));
  const fragment = url.hash.slice(1);
  if (fragment !== '') errors.push(invalid(at, fragment, 'fragments are not permitted in the URL'));
  const query = url.search.slice(1);
  if (query !== '') errors.push(invalid(at, query, 'query parameters are not permitted in the URL'));
  return errors;
}

function validateService(
  at: FieldPath,
  { name, namespace, path, port = 0 }: ServiceReference,
  saysWhatIsMissing: boolean,
): FieldError[] {
  const missing = (field: string) => required(at.child(field), saysWhatIsMissing ? `service ${field} is required` : '');
  const errors: FieldError[] = [];
  if (!name) errors.push(missing('name'));
  if (!namespace) errors.push(missing('namespace'));
  const wrongPort = portNumber(port);
  if (wrongPort.length > 0) errors.push(invalid(at.child('port'), port, `port is not valid: ${wrongPort.join(',')}`));
  return path ? [...errors, ...validateServicePath(at.child('path'), path)] : errors;
}

function validateServicePath(at: FieldPath, path: string): FieldError[] {
  if (path === '/') return [];
  if (path === '//') return [invalid(at, path, 'segment[0] may not be empty')];
  const errors = path.startsWith('/') ? [] : [invalid(at, path, "must start with a '/'")];
  const segments = path.slice(1).replace(/\/$/, '').split('/');
  return [
    ...errors,
    ...segments.flatMap((segment, index) => {
      const messages = segment === '' ? [' may not be empty'] : dns1123Subdomain(segment).map((m) => `: ${m}`);
      return messages.map((message) => invalid(at, path, `segment[${index}]${message}`));
    }),
  ];
}
