/** `/statusz` and `/flagz`: what runs here, and with which flags, for people to read. */

import { notAcceptable } from '../../apimachinery/status.ts';
import type { Clock } from '../../base/clock.ts';
import { textResponse } from '../pages.ts';
import type { ApiRequest, Handler } from '../request.ts';
import { serverVersion } from '../version.ts';

const warning =
  'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';
const component = 'kube-apiserver';

export interface ZpagesOptions {
  readonly clock: Clock;
  /** When the server was started, on the clock's wall. */
  readonly startedMs: number;
  readonly startedMonotonicMs: number;
  /** Paths worth looking at. */
  readonly paths: readonly string[];
  /** By name; absent: there were none. */
  readonly flags?: ReadonlyMap<string, unknown> | undefined;
}

export function zpages(options: ZpagesOptions): ReadonlyMap<string, Handler> {
  return new Map([
    ['/statusz', plain(() => statusLines(options))],
    ['/flagz', plain(() => flagLines(options.flags ?? new Map()))],
  ]);
}

function plain(lines: () => readonly string[]): Handler {
  return async (request) => {
    if (!acceptsText(request)) throw notAcceptable(['text/plain']);
    return textResponse(200, `\n${lines().join('\n')}\n`);
  };
}

function acceptsText({ headers }: ApiRequest): boolean {
  const { accept = '' } = headers;
  return (
    accept === '' || accept.split(',').some((range) => /^\s*(?:text\/plain|text\/\*|\*\/\*)\s*(?:;|$)/.test(range))
  );
}

function statusLines({ clock, startedMs, startedMonotonicMs, paths }: ZpagesOptions): readonly string[] {
  const seconds = Math.floor((clock.monotonic() - startedMonotonicMs) / 1000);
  const two = (value: number) => String(value).padStart(2, '0');
  const up = `${Math.floor(seconds / 3600)} hr ${two(Math.floor(seconds / 60) % 60)} min ${two(seconds % 60)} sec`;
  const { gitVersion, goVersion, emulationMajor, emulationMinor } = serverVersion;
  return [
    `${component} statusz`,
    warning,
    '',
    `Started: ${new Date(startedMs).toUTCString()}`,
    `Up: ${up}`,
    `Go version: ${goVersion}`,
    `Binary version: ${gitVersion.replace(/^v/, '')}`,
    `Emulation version: ${emulationMajor}.${emulationMinor}`,
    `Paths: ${paths.join(' ')}`,
  ];
}

function flagLines(flags: ReadonlyMap<string, unknown>): readonly string[] {
  const lines = [...flags].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => `${name}=${flagText(value)}`);
  return [`${component} flagz`, warning, '', ...lines];
}

/** As Go's flags print themselves. */
function flagText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.join(',')}]`;
  if (typeof value !== 'object' || value === null) return String(value ?? '');
  return Object.entries(value)
    .map(([key, item]) => `${key}=${String(item)}`)
    .join(',');
}
