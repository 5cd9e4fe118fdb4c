/** Which container of a Pod a request means, and what it may ask of its log: upstream's rules and words. */
import type { Pod } from '../../api/gen/core-v1.ts';
import { type FieldError, forbidden, invalid as invalidField, path } from '../../apimachinery/field-error.ts';
import { badRequest, invalid } from '../../apimachinery/status.ts';
import { parseTime } from '../../apimachinery/time.ts';
import { isTrue } from '../request-info.ts';

/** The only one when none is named. Throws 400. */
export function containerOf({ metadata, spec }: Pod, wanted: string | null): string {
  const { initContainers = [], containers, ephemeralContainers = [] } = spec;
  const names = [...initContainers, ...containers, ...ephemeralContainers].map((container) => container.name);
  if (wanted) {
    if (!names.includes(wanted)) throw badRequest(`container ${wanted} is not valid for pod ${metadata.name}`);
    return wanted;
  }
  const [only, ...others] = containers;
  if (!only) throw badRequest(`a container name must be specified for pod ${metadata.name}`);
  if (others.length === 0) return only.name;
  throw badRequest(`a container name must be specified for pod ${metadata.name}, choose one of: [${names.join(' ')}]`);
}

export interface PodLogOptions {
  readonly container: string | null;
  readonly follow: boolean;
  readonly insecureSkipTlsVerifyBackend: boolean;
  /** As the kubelet takes them. */
  readonly parameters: URLSearchParams;
}

/** Throws 400 for what cannot be read, 422 for what makes no sense. */
export function podLogOptions(podName: string, query: URLSearchParams): PodLogOptions {
  const errors: FieldError[] = [];
  const tailLines = wholeNumber(query, 'tailLines');
  const limitBytes = wholeNumber(query, 'limitBytes');
  const sinceSeconds = wholeNumber(query, 'sinceSeconds');
  const sinceTime = timeOf(query);
  if (tailLines !== undefined && tailLines < 0) {
    errors.push(invalidField(path('tailLines'), tailLines, 'must be greater than or equal to 0'));
  }
  if (limitBytes !== undefined && limitBytes < 1) {
    errors.push(invalidField(path('limitBytes'), limitBytes, 'must be greater than 0'));
  }
  if (sinceSeconds !== undefined && sinceTime !== undefined) {
    errors.push(forbidden(path(''), 'at most one of `sinceTime` or `sinceSeconds` may be specified'));
  } else if (sinceSeconds !== undefined && sinceSeconds < 1) {
    errors.push(invalidField(path('sinceSeconds'), sinceSeconds, 'must be greater than 0'));
  }
  if (query.has('stream')) errors.push(forbidden(path('stream'), 'may not be specified'));
  if (errors.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, podName, errors);
  const flags = ['follow', 'previous', 'timestamps'].filter((name) => isTrue(query.get(name)));
  const values: [string, unknown][] = Object.entries({ sinceSeconds, sinceTime, tailLines, limitBytes });
  const parameters = new URLSearchParams(flags.map((name): [string, string] => [name, 'true']));
  for (const [name, value] of values) if (value !== undefined) parameters.set(name, String(value));
  return {
    container: query.get('container'),
    follow: flags.includes('follow'),
    insecureSkipTlsVerifyBackend: isTrue(query.get('insecureSkipTLSVerifyBackend')),
    parameters,
  };
}

function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^[+-]?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
}

function timeOf(query: URLSearchParams): string | undefined {
  const text = query.get('sinceTime');
  if (!text) return undefined;
  if (parseTime(text) !== undefined) return text;
  const layout = '2006-01-02T15:04:05Z07:00';
  throw badRequest(
    `parsing time ${JSON.stringify(text)} as "${layout}": cannot parse ${JSON.stringify(text)} as "2006"`,
  );
}

/** What an exec or attach asks for, and the query by which the kubelet is asked for the same. */
export function commandOptions(query: URLSearchParams) {
  const [stdin, stdout, stderr, tty] = ['stdin', 'stdout', 'stderr', 'tty'].map((name) => isTrue(query.get(name)));
  const parameters = new URLSearchParams();
  if (stdin) parameters.set('input', '1');
  if (stdout) parameters.set('output', '1');
  if (stderr) parameters.set('error', '1');
  if (tty) parameters.set('tty', '1');
  for (const word of query.getAll('command')) parameters.append('command', word);
  return { streams: { stdin: !!stdin, stdout: !!stdout, stderr: !!stderr, tty: !!tty }, parameters };
}
