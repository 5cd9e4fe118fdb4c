/** The log of a process: lines of JSON, each with its time, level and message, to a file or to standard error. */
import { renameSync, statSync } from 'node:fs';
import { destination, type Logger, pino } from 'pino';
import { messageOf, StatusError } from '../../apimachinery/status.ts';
import type { Log, LogFields } from '../../base/log.ts';

export interface ProcessLogOptions {
  /** Absent: standard error. */
  readonly file?: string | undefined;
  /** Default `info`. */
  readonly level?: 'debug' | 'info' | 'warn' | 'error' | undefined;
}

const rotateAboveBytes = 32 * 1024 * 1024;

export function processLog(options: ProcessLogOptions = {}): Log {
  if (options.file) rotate(options.file);
  // Written at once: the last lines before a crash are those that are needed.
  const target = destination({ dest: options.file ?? 2, sync: true, append: true, mkdir: true });
  const logger = pino(
    {
      base: null,
      level: options.level ?? 'info',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    target,
  );
  return logOver(logger);
}

function logOver(logger: Logger): Log {
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields: LogFields = {}): void =>
      logger[level](plain(fields), message);
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (fields) => logOver(logger.child(plain(fields))),
  };
}

/** Errors as text; the stack only of those that nobody expected. */
function plain(fields: LogFields): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      if (!(value instanceof Error)) return [name, value];
      const expected = value instanceof StatusError || 'code' in value;
      return [name, expected ? messageOf(value) : (value.stack ?? value.message)];
    }),
  );
}

/** One older file is kept beside a log that has grown large. */
export function rotate(file: string): void {
  try {
    if (statSync(file).size > rotateAboveBytes) renameSync(file, `${file}.1`);
  } catch {}
}

/** A promise that nobody waited for must not end a process that others rely on; it is told in the log. */
export function guard(log: Log): void {
  process.on('unhandledRejection', (error) => log.error('unhandled rejection', { error }));
}
