/** `/version`: clients derive from it what this server can do, so major and minor are those of the API it serves. */
import { genericServerResponse } from '../apimachinery/status.ts';
import type { Handler } from './request.ts';

export const serverVersion = {
  major: '1',
  minor: '36',
  emulationMajor: '1',
  emulationMinor: '36',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '35',
  gitVersion: 'v1.36.2+coracle',
  // The sources run as they are and know of no commit. This is git's name for none; kubectl's readers expect such digits.
  gitCommit: '0'.repeat(40),
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: 'none',
  compiler: 'none',
  platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
} as const;

const body = Buffer.from(`${JSON.stringify(serverVersion, undefined, 2)}\n`);

export const versionHandler: Handler = async ({ method }) => {
  if (method !== 'GET') throw genericServerResponse({ code: 405, method });
  return { status: 200, headers: { 'content-type': 'application/json' }, body: { kind: 'bytes', chunks: [body] } };
};
