/**
 * What a list, a watch or the deletion of a collection asks for: selectors, versions, pages. Malformed parameters are a 400,
 * combinations that make no sense a 422, both in upstream's words.
 */
import { type FieldError, forbidden, notSupported, path } from '../../apimachinery/field-error.ts';
import { parseFieldSelector } from '../../apimachinery/fields.ts';
import { parseInt64, parseUint64 } from '../../apimachinery/go-number.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { SelectorError } from '../../apimachinery/labels.ts';
import { badRequest, invalid, messageOf, statusError } from '../../apimachinery/status.ts';
import { isTrue } from '../request-info.ts';
import { hubSelector } from '../watch-cache/selectable-fields.ts';
import type { Selection } from '../watch-cache/selection.ts';
import type { Operation } from './operation.ts';

type ListTarget = Pick<Operation, 'request' | 'info' | 'resource' | 'environment'>;

export interface ListOptions {
  readonly selection: Selection;
  /** Empty: the newest; `0`: whatever is at hand. */
  readonly resourceVersion: string;
  readonly match: '' | 'Exact' | 'NotOlderThan';
  readonly limit: number;
  readonly continue: string;
  readonly timeoutSeconds: number | undefined;
  readonly allowWatchBookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
}

export function parseListOptions(target: ListTarget): ListOptions {
  const { info } = target;
  const { query } = target.request;
  const watch = info.verb === 'watch';
  const resourceVersion = query.get('resourceVersion') ?? '';
  const initial = query.get('sendInitialEvents');
  const asked = query.get('resourceVersionMatch') ?? '';
  // As upstream: a watch that begins with the state is one that asked for it, and is told where the state ends.
  const fromState =
    watch && asked === '' && initial === null && isTrue(query.get('watch')) && /^0?$/.test(resourceVersion);
  const options = {
    selection: selectionOf(target),
    resourceVersion,
    match: (fromState ? 'NotOlderThan' : asked) as ListOptions['match'],
    // As upstream: less than none is no limit.
    limit: Math.max(0, integerOf(query, 'limit') ?? 0),
    continue: query.get('continue') ?? '',
    timeoutSeconds: integerOf(query, 'timeoutSeconds'),
    allowWatchBookmarks: isTrue(query.get('allowWatchBookmarks')),
    sendInitialEvents: initial === null ? fromState || undefined : isTrue(initial),
  };
  const errors = watch ? watchErrors(options) : listErrors(options);
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors);
  // What comes with a continue token is the token's matter.
  if (watch || options.continue === '') checkResourceVersion(options.resourceVersion, info.verb);
  return options;
}

/** Throws for what is no version: 400 for lists; elsewhere upstream has no code for it, and answers 500. */
export function checkResourceVersion(text: string, verb: string): void {
  if (text === '') return;
  try {
    parseUint64(text);
  } catch (error) {
    const message = `resourceVersion: Invalid value: ${quote(text)}: ${messageOf(error)}`;
    if (verb === 'get' || verb === 'watch') throw statusError({ code: 500, reason: '', message });
    throw badRequest(`invalid resource version: ${message}`);
  }
}

function selectionOf({ request: { query }, info, resource, environment }: ListTarget): Selection {
  const labels = parsed(() => environment.labelSelector(query.get('labelSelector') ?? ''));
  const asked = parsed(() => parseFieldSelector(query.get('fieldSelector') ?? ''));
  const fields = hubSelector(resource, asked);
  const { namespaced } = resource.row;
  const pinnedName = fields.exactValue('metadata.name');
  if (info.name !== '' && !fields.empty && pinnedName !== info.name) {
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  }
  const name = info.name === '' ? pinnedName : info.name;
  const namespace = namespaced ? info.namespace || fields.exactValue('metadata.namespace') : undefined;
  return { labels, fields, ...(name === undefined ? {} : { name }), ...(namespace ? { namespace } : {}) };
}

function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw error instanceof SelectorError ? badRequest(error.message) : error;
  }
}

function integerOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  try {
    return parseInt64(text);
  } catch (error) {
    throw badRequest(messageOf(error));
  }
}

type Unselected = Omit<ListOptions, 'selection'>;

function listErrors({ match, resourceVersion, continue: token, sendInitialEvents }: Unselected): FieldError[] {
  const at = path('resourceVersionMatch');
  const errors: FieldError[] = [];
  if (match !== '') {
    if (resourceVersion === '') {
      errors.push(forbidden(at, 'resourceVersionMatch is forbidden unless resourceVersion is provided'));
    }
    if (token !== '') errors.push(forbidden(at, 'resourceVersionMatch is forbidden when continue is provided'));
    if (match !== 'Exact' && match !== 'NotOlderThan')
      errors.push(notSupported(at, match, ['Exact', 'NotOlderThan', '']));
    if (match === 'Exact' && resourceVersion === '0') {
      errors.push(forbidden(at, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
    }
  }
  if (sendInitialEvents !== undefined) {
    errors.push(forbidden(path('sendInitialEvents'), 'sendInitialEvents is forbidden for list'));
  }
  return errors;
}

function watchErrors({ match, sendInitialEvents, continue: token }: Unselected): FieldError[] {
  const at = path('resourceVersionMatch');
  const errors: FieldError[] = [];
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    errors.push(forbidden(at, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'));
  }
  if (match === '') return errors;
  if (sendInitialEvents === undefined) {
    errors.push(forbidden(at, 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'));
  }
  if (match !== 'NotOlderThan') errors.push(notSupported(at, match, ['NotOlderThan']));
  if (token !== '') errors.push(forbidden(at, 'resourceVersionMatch is forbidden when continue is provided'));
  return errors;
}
