/** Where a webhook is called: at an https URL, or at a Service of the cluster. Also used for conversion webhooks. */
import { type FieldError, type FieldPath, invalid, required } from '../../apimachinery/field-error.ts';
import { type GoUrl, parseUrl, UrlError } from '../../apimachinery/go-url.ts';
import { dns1123Subdomain, portNumber } from '../../apimachinery/names.ts';
import type { ServiceReference, WebhookClientConfig } from '../gen/admissionregistration-v1.ts';

const urlForm = '; desired format: https://host[/path]';

export function validateWebhookClient(at: FieldPath, client: WebhookClientConfig | undefined): FieldError[] {
  const { url, service } = client ?? {};
  if ((url == null) === (service == null)) return [required(at, 'exactly one of url or service is required')];
  return url == null ? validateService(at.child('service'), service!) : validateUrl(at.child('url'), url);
}

function validateUrl(at: FieldPath, text: string): FieldError[] {
  let url: GoUrl;
  try {
    url = parseUrl(text);
  } catch (error) {
    if (error instanceof UrlError) return [required(at, `url must be a valid URL: ${error.message}${urlForm}`)];
    throw error;
  }
  const { scheme, host, userInfo = '', fragment, rawQuery } = url;
  const errors: FieldError[] = [];
  if (scheme !== 'https') errors.push(invalid(at, scheme, `'https' is the only allowed URL scheme${urlForm}`));
  if (host === '') errors.push(invalid(at, '', `host must be specified${urlForm}`));
  if (userInfo !== '') errors.push(invalid(at, userInfo, 'user information is not permitted in the URL'));
  if (fragment !== '') errors.push(invalid(at, fragment, 'fragments are not permitted in the URL'));
  if (rawQuery !== '') errors.push(invalid(at, rawQuery, 'query parameters are not permitted in the URL'));
  return errors;
}

function validateService(at: FieldPath, { name, namespace, path, port = 0 }: ServiceReference): FieldError[] {
  const errors: FieldError[] = [];
  if (!name) errors.push(required(at.child('name')));
  if (!namespace) errors.push(required(at.child('namespace')));
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
