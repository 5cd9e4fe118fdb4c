/**
 * Who asked for a change, as audit logs have it: managedFields name programs, the log names users. A request is the one that made a change
 * when its answer, which the log has at level RequestResponse, bears the change's resourceVersion; else when the change was made between
 * its beginning and its end. Requests of the same moment cannot be told apart then, and all of them are named.
 */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import { messageOf } from '../../apimachinery/status.ts';
import { parseTime } from '../../apimachinery/time.ts';
import { CommandError } from '../../cluster/command-error.ts';
import type { PastObject, Target } from './past.ts';

/** One that changed something, or could have. */
export interface AuditedRequest {
  readonly id: string;
  /** `ann`, or `ann as bob`. */
  readonly user: string;
  readonly verb: string;
  /** Of the object that was answered, if the log has it. */
  readonly resourceVersion: string | undefined;
  readonly fromMs: number;
  readonly untilMs: number;
}

interface AuditEvent {
  readonly auditID?: string;
  readonly stage?: string;
  readonly verb?: string;
  readonly user?: { readonly username?: string };
  readonly impersonatedUser?: { readonly username?: string };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly responseObject?: { readonly metadata?: { readonly name?: string; readonly resourceVersion?: string } };
  readonly requestReceivedTimestamp?: string;
  readonly stageTimestamp?: string;
}

/** By what a request does to an object that the store tells of. The last finalizer goes with an update, a Pod's node comes with a creation. */
const verbsOf: Readonly<Record<PastObject['type'], readonly string[]>> = {
  ADDED: ['create', 'update', 'patch'],
  MODIFIED: ['update', 'patch', 'create', 'delete', 'deletecollection'],
  DELETED: ['delete', 'deletecollection', 'update', 'patch'],
};

/** The successful writes to one object that the files tell of; those whose name ends in `.gz` are packed. */
export async function auditedRequests(files: readonly string[], target: Target): Promise<readonly AuditedRequest[]> {
  const found: AuditedRequest[] = [];
  for (const file of files) {
    let events = 0;
    for await (const line of linesOf(file)) {
      const event = parsed(line);
      if (!event) continue;
      events++;
      if (event.stage === 'ResponseComplete' && isAbout(event, target)) found.push(requestOf(event));
    }
    if (events === 0)
      throw new CommandError(`${file} has no audit events.`, 'Name a file of --audit-log-path in the format json.');
  }
  return found;
}

/** Without order, and none twice. */
export function usersOf(change: PastObject, requests: readonly AuditedRequest[]): readonly string[] {
  // What deletions answer is what there was, with the version of an earlier change.
  const exact = requests.filter(
    ({ resourceVersion, verb }) => resourceVersion === change.revision && !verb.startsWith('delete'),
  );
  const fitting = exact.length > 0 ? exact : requests.filter((request) => isAtTime(change, request));
  return [...new Set(fitting.map(({ user }) => user))];
}

function isAtTime(change: PastObject, { verb, fromMs, untilMs }: AuditedRequest): boolean {
  const written = writtenBetween(change);
  return (
    written !== undefined &&
    verbsOf[change.type].includes(verb) &&
    fromMs <= written.untilMs &&
    written.fromMs <= untilMs
  );
}

/** Undefined: of a removal, of which the object itself does not tell. */
function writtenBetween({
  type,
  time,
  object,
}: PastObject): { readonly fromMs: number; readonly untilMs: number } | undefined {
  const known = time === undefined ? undefined : parseTime(time);
  if (known !== undefined) return { fromMs: known, untilMs: known };
  const noted = (object.metadata.managedFields ?? []).map(({ time: written }) => parseTime(written ?? '') ?? 0);
  if (type === 'DELETED' || noted.length === 0) return undefined;
  // Managed fields have whole seconds.
  const fromMs = Math.max(...noted);
  return { fromMs, untilMs: fromMs + 999 };
}

async function* linesOf(file: string): AsyncGenerator<string> {
  const bytes = createReadStream(file);
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  const input = file.endsWith('.gz') ? bytes.pipe(createGunzip()) : bytes;
  for (const stream of new Set([bytes, input]))
    stream.once('error', (error: Error) => {
      failed.reject(error);
      input.destroy();
    });
  try {
    const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })[Symbol.asyncIterator]();
    for (;;) {
      const { value, done } = await Promise.race([lines.next(), failed.promise]);
      if (done) return;
      yield value;
    }
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${messageOf(error)}.`, 'Name an audit log with --audit-log.');
  }
}

function parsed(line: string): AuditEvent | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const event = JSON.parse(line) as AuditEvent & { readonly kind?: string };
    return event.kind === 'Event' ? event : undefined;
  } catch {
    // The last line of a log that is being written.
    return undefined;
  }
}

function isAbout({ verb, objectRef, responseStatus, responseObject }: AuditEvent, target: Target): boolean {
  const { resource, namespace = '', name } = target;
  const code = responseStatus?.code ?? 0;
  if (code < 200 || code > 299 || !objectRef) return false;
  if (objectRef.resource !== resource.name || (objectRef.apiGroup ?? '') !== resource.group) return false;
  if ((objectRef.namespace ?? '') !== namespace) return false;
  // A creation names nothing in its path, and the deletion of a collection no object at all.
  const named = objectRef.name ?? (verb === 'create' ? responseObject?.metadata?.name : undefined);
  return named === undefined ? verb === 'create' || verb === 'deletecollection' : named === name;
}

function requestOf(event: AuditEvent): AuditedRequest {
  const { auditID = '', verb = '', user, impersonatedUser, responseObject } = event;
  const asked = user?.username ?? '';
  return {
    id: auditID,
    user: impersonatedUser?.username === undefined ? asked : `${asked} as ${impersonatedUser.username}`,
    verb,
    resourceVersion: responseObject?.metadata?.resourceVersion,
    fromMs: Math.floor(parseTime(event.requestReceivedTimestamp ?? '') ?? Number.NaN),
    untilMs: parseTime(event.stageTimestamp ?? '') ?? Number.NaN,
  };
}
