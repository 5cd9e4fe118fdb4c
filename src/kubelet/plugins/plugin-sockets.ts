/**
 * The folder in which plugins of the node put a socket to be found, with the folders below it. Names that begin with a dot are
 * nobody's business. inotify tells of changes; what is there is read afresh each time, so that a lost or doubled event does no harm.
 */
import { type FSWatcher, watch } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../apimachinery/status.ts';
import type { Log } from '../../base/log.ts';

export interface PluginSocket {
  readonly path: string;
  /** Differs when the socket was removed and made anew under the same path. */
  readonly identity: string;
}

export interface PluginSockets {
  /** Those that there are now. */
  list(): Promise<readonly PluginSocket[]>;
  /** Calls back when the list may have changed, until the signal is aborted. What happens after it has resolved is not missed. */
  watch(onChange: () => void, signal: AbortSignal): Promise<void>;
}

export function pluginSockets(directory: string, log: Log): PluginSockets {
  const watchers = new Map<string, FSWatcher>();
  let onChange: (() => void) | undefined;

  const follow = (folder: string) => {
    if (!onChange || watchers.has(folder)) return;
    try {
      const watcher = watch(folder, { persistent: false }, () => onChange?.());
      watchers.set(folder, watcher);
      const forget = () => {
        watcher.close();
        watchers.delete(folder);
      };
      watcher.on('error', forget);
    } catch (error) {
      log.warn('cannot watch a folder for sockets of plugins', { folder, error: messageOf(error) });
    }
  };

  const collect = async (folder: string): Promise<PluginSocket[]> => {
    // Before it is read: what comes to be meanwhile is told.
    follow(folder);
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => undefined);
    if (!entries) {
      watchers.get(folder)?.close();
      watchers.delete(folder);
      return [];
    }
    const found: PluginSocket[] = [];
    for (const entry of entries) {
      if (entry.name.startsWith('.')) continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) found.push(...(await collect(path)));
      else if (entry.isSocket()) {
        const info = await stat(path).catch(() => undefined);
        if (info) found.push({ path, identity: `${info.ino}:${info.birthtimeMs}` });
      }
    }
    return found;
  };

  return {
    list: () => collect(directory),
    async watch(callback, signal) {
      await mkdir(directory, { recursive: true, mode: 0o755 });
      onChange = callback;
      follow(directory);
      const stop = () => {
        onChange = undefined;
        for (const watcher of watchers.values()) watcher.close();
        watchers.clear();
      };
      signal.addEventListener('abort', stop, { once: true });
    },
  };
}
