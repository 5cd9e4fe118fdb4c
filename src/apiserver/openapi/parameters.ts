/** The query and path parameters of the API's operations. */

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly type: 'string' | 'integer' | 'boolean';
  readonly description: string;
}

function query(name: string, type: Parameter['type'], description: string): Parameter {
  return { name, in: 'query', type, description };
}

export const prettyParameter: Parameter = query('pretty', 'string', 'If true, JSON is indented for people to read.');
export const namespaceParameter: Parameter = {
  name: 'namespace',
  in: 'path',
  type: 'string',
  description: 'the namespace, a scope for names and permissions',
};
export const pathParameter: Parameter = {
  name: 'path',
  in: 'path',
  type: 'string',
  description: 'path to the resource',
};

export function nameParameter(kind: string): Parameter {
  return { name: 'name', in: 'path', type: 'string', description: `name of the ${kind}` };
}

const dryRun = query('dryRun', 'string', 'All: go through every stage but store nothing.');
const fieldManager = query(
  'fieldManager',
  'string',
  'The name under which the changed fields are recorded as managed.',
);
const fieldValidation = query(
  'fieldValidation',
  'string',
  'What to do about unknown and repeated fields: Ignore drops them, Warn (the default) also sends a warning, Strict refuses the request.',
);
const force = query('force', 'boolean', 'For apply: take over fields that other managers hold.');
const gracePeriodSeconds = query('gracePeriodSeconds', 'integer', 'Seconds before the object is gone; 0 is at once.');
const orphanDependents = query('orphanDependents', 'boolean', 'Deprecated: use propagationPolicy.');
const propagationPolicy = query(
  'propagationPolicy',
  'string',
  'What happens to dependents: Orphan, Background or Foreground.',
);
const ignoreStoreReadError = query(
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'boolean',
  'Delete the object even if what is stored cannot be read. Dangerous.',
);
const labelSelector = query('labelSelector', 'string', 'Restricts to objects with matching labels.');
const fieldSelector = query('fieldSelector', 'string', 'Restricts to objects with matching fields.');
const limit = query('limit', 'integer', 'The most objects to return in one answer.');
const continueToken = query(
  'continue',
  'string',
  'Goes on with a list that was limited, from the token in its metadata.',
);
const resourceVersion = query(
  'resourceVersion',
  'string',
  'The version of the data to answer from; its meaning depends on resourceVersionMatch.',
);
const resourceVersionMatch = query(
  'resourceVersionMatch',
  'string',
  'How resourceVersion is meant: Exact or NotOlderThan.',
);
const sendInitialEvents = query(
  'sendInitialEvents',
  'boolean',
  'Begin a watch with an event for each object there is, then a bookmark.',
);
const shardSelector = query('shardSelector', 'string', 'Restricts to a share of all objects.');
const timeoutSeconds = query('timeoutSeconds', 'integer', 'How long the call may take, whatever happens.');
const allowWatchBookmarks = query(
  'allowWatchBookmarks',
  'boolean',
  'Whether a watch may send bookmarks, which tell how far it has come.',
);
const watch = query('watch', 'boolean', 'Answer with a stream of changes instead of a list.');

export const writeParameters: readonly Parameter[] = [dryRun, fieldManager, fieldValidation];
export const patchParameters: readonly Parameter[] = [dryRun, fieldManager, fieldValidation, force];
export const deleteParameters: readonly Parameter[] = [
  dryRun,
  gracePeriodSeconds,
  ignoreStoreReadError,
  orphanDependents,
  propagationPolicy,
];

const selection: readonly Parameter[] = [
  continueToken,
  fieldSelector,
  labelSelector,
  limit,
  resourceVersion,
  resourceVersionMatch,
  sendInitialEvents,
  shardSelector,
  timeoutSeconds,
];

export const listParameters: readonly Parameter[] = [allowWatchBookmarks, ...selection, watch];
export const collectionDeleteParameters: readonly Parameter[] = [...deleteParameters, ...selection];

/** Fields of an options type as query parameters: how exec, logs and proxies are told what to do. */
export function parametersOfOptions(fields: readonly { readonly name: string; readonly type: string }[]): Parameter[] {
  return fields.map(({ name, type }) => {
    const kind = type === 'bool' ? 'boolean' : type === 'int32' || type === 'int64' ? 'integer' : 'string';
    return query(name, kind, optionDescriptions[name] ?? `The option ${name}.`);
  });
}

const optionDescriptions: Readonly<Record<string, string>> = {
  command: 'The program to run and its arguments; not run in a shell.',
  container: 'The container; may be left out when the Pod has only one.',
  stdin: 'Send standard input to the container.',
  stdout: 'Receive standard output of the container.',
  stderr: 'Receive standard error of the container.',
  tty: 'Use a terminal.',
  ports: 'The ports to forward; needed for WebSockets.',
  path: 'The path to request.',
  follow: 'Go on sending what is logged from now on.',
  previous: 'The log of the container before it was last restarted.',
  sinceSeconds: 'Only lines of the last seconds.',
  sinceTime: 'Only lines after this moment.',
  timestamps: 'Begin each line with its time.',
  tailLines: 'Only this many lines from the end.',
  limitBytes: 'At most this many bytes.',
  stream: 'All, Stdout or Stderr.',
  insecureSkipTLSVerifyBackend: 'Do not check the kubelet\u2019s certificate.',
};
