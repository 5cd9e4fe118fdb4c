/**
 * `/logs/`: the node's own log files below one folder, read only, for `kubectl proxy` and `/api/v1/nodes/NAME/proxy/logs/`. Nothing outside
 * the folder is ever opened, whatever links say.
 */
import { createReadStream } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { failure, type Reply, text } from './replies.ts';

/** `path` is what stands after `/logs/`, decoded. */
export async function systemLogs(directory: string, path: string): Promise<Reply> {
  if (path.includes('\0')) return failure(400, 'invalid path');
  let root: string;
  let target: string;
  try {
    root = await realpath(directory);
    target = await realpath(join(root, path));
  } catch {
    return failure(404, '404 page not found\n');
  }
  if (target !== root && !target.startsWith(root + sep)) return failure(404, '404 page not found\n');
  const entry = await stat(target);
  if (entry.isDirectory()) return listing(target);
  if (!entry.isFile()) return failure(404, '404 page not found\n');
  return {
    status: 200,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
    body: createReadStream(target, { end: Math.max(0, entry.size - 1) }),
  };
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
