/**
 * What components write for operators: one message and named fields. The composition root decides where it goes; a component
 * only ever sees this interface.
 */

export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A log whose lines all carry `fields`. */
  child(fields: LogFields): Log;
}

/** Drops everything. */
export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLog,
};

/** Writes errors alone, a line each: what nobody expects to happen must not happen in silence. */
export function errorLog(write: (line: string) => void, inherited: LogFields = {}): Log {
  return {
    ...silentLog,
    error(message, fields) {
      write(`${message} ${JSON.stringify({ ...inherited, ...fields })}`);
    },
    child: (fields) => errorLog(write, { ...inherited, ...fields }),
  };
}
