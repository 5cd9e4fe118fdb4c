/**
 * `/logs/`: the node's own log files below one folder, read only, for `kubectl proxy` and `/api/v1/nodes/NAME/proxy/logs/`; and logs of
 * services by name (`?query=`), from the journal or else from that folder. Nothing outside the folder is ever opened, whatever links say.
 */
import { createReadStream, type Stats } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { errorsText, path as fieldPath, invalid } from '../../apimachinery/field-error.ts';
import { messageOf } from '../../apimachinery/status.ts';
import type { Journal } from './journal.ts';
import {
  hasOptions,
  journalArguments,
  type NodeLogQuery,
  nodeLogQueryErrors,
  parseNodeLogQuery,
} from './node-log-query.ts';
import { failure, type Reply, text } from './replies.ts';

export interface SystemLogs {
  readonly directory: string;
  /** Absent: queries are not answered, only files shown. */
  readonly journal?: Journal | undefined;
}

export interface SystemLogRequest {
  /** What stands after `/logs/`, decoded. */
  readonly path: string;
  readonly parameters: URLSearchParams;
  readonly acceptEncoding: string | undefined;
  readonly signal: AbortSignal;
}

export async function systemLogs({ directory, journal }: SystemLogs, request: SystemLogRequest): Promise<Reply> {
  if (!journal) return shownFile(directory, request.path);
  const { query, errors } = parseNodeLogQuery(request.parameters);
  if (errors.length > 0) return failure(400, `${errorsText(errors)}\n`);
  if (!query) return shownFile(directory, request.path);
  const wrong = nodeLogQueryErrors(query);
  const [file] = query.files;
  if (wrong.length === 0 && file !== undefined) {
    const name = file.replaceAll('\\', '/').replace(/^\/+/, '');
    if (await entryIn(directory, name)) return shownFile(directory, name);
    wrong.push(invalid(fieldPath('query'), query.files, `statat ${name}: no such file or directory`));
  }
  if (wrong.length > 0) return failure(406, `${errorsText(wrong)}\n`);
  const body = serviceLogs(query, directory, journal, request.signal);
  const type = { 'content-type': 'text/plain;charset=UTF-8' };
  if (request.acceptEncoding !== 'gzip') return { status: 200, headers: type, body };
  const packed = Readable.from(body).pipe(createGzip({ level: 1 }));
  return { status: 200, headers: { ...type, 'content-encoding': 'gzip' }, body: packed };
}

/** What goes wrong once the answer has begun is told in the answer. */
async function* serviceLogs(
  query: NodeLogQuery,
  directory: string,
  journal: Journal,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const units = new Set((await journal.units(signal)).split('\n'));
  const inJournal = query.services.filter((service) => units.has(`${service}.service`));
  const inFiles = query.services.filter((service) => !units.has(`${service}.service`));
  if (inJournal.length > 0) {
    try {
      yield* journal.read(journalArguments(query, inJournal), signal);
    } catch {
      yield Buffer.from('\nerror: journal output not available\n');
    }
  }
  if (inFiles.length > 0 && hasOptions(query.options)) {
    yield Buffer.from(
      `\noptions present and query resolved to log files for [${inFiles.join(' ')}]\ntry without specifying options\n`,
    );
    return;
  }
  for (const service of inFiles) yield* fileLogs(directory, service);
}

async function* fileLogs(directory: string, service: string): AsyncIterable<Uint8Array> {
  try {
    for (const name of [service, `${service}.log`, join(service, `${service}.log`)]) {
      const found = await entryIn(directory, name);
      if (!found?.entry.isFile()) continue;
      yield* content(found);
      return;
    }
    yield Buffer.from(`\nlog not found for ${service}\n`);
  } catch (error) {
    yield Buffer.from(`\nerror getting log for ${service}: ${messageOf(error)}\n`);
  }
}

async function shownFile(directory: string, path: string): Promise<Reply> {
  if (path.includes('\0')) return failure(400, 'invalid path');
  const found = await entryIn(directory, path);
  if (found?.entry.isDirectory()) return listing(found.target);
  if (!found?.entry.isFile()) return failure(404, '404 page not found\n');
  return {
    status: 200,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
    body: content(found),
  };
}

interface FoundEntry {
  readonly target: string;
  readonly entry: Stats;
}

/** Undefined when it is not there, or leads out of the folder. */
async function entryIn(directory: string, path: string): Promise<FoundEntry | undefined> {
  if (path.includes('\0')) return undefined;
  try {
    const root = await realpath(directory);
    const target = await realpath(join(root, path));
    if (target !== root && !target.startsWith(root + sep)) return undefined;
    return { target, entry: await stat(target) };
  } catch {
    return undefined;
  }
}

/** As much as there was when it was looked at: a log may grow faster than it is read. */
function content({ target, entry }: FoundEntry): AsyncIterable<Uint8Array> {
  if (entry.size === 0) return Readable.from([]);
  return createReadStream(target, { end: entry.size - 1 });
}

async function listing(directory: string): Promise<Reply> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.map((entry) => entry.name + (entry.isDirectory() ? '/' : '')).toSorted();
  const links = names.map((name) => {
    const href = name.split('/').map(encodeURIComponent).join('/');
    return `<a href="${href}">${name.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</a>`;
  });
  return text(`<!doctype html>\n<pre>\n${links.join('\n')}\n</pre>\n`, 200, 'text/html; charset=utf-8');
}
