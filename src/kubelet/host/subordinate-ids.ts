/**
 * The range of user and group ids that the machine keeps for a user `kubelet`, as `getsubids` tells it: Pods with users of their own get
 * theirs out of it. A machine without that user, or without that program, keeps none.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { messageOf } from '../../apimachinery/status.ts';

export interface IdRange {
  readonly firstId: number;
  readonly length: number;
}

/** What a program prints; undefined where there is no such program. Rejects when it fails, with its exit status as `code`. */
export type RunProgram = (program: string, args: readonly string[]) => Promise<string | undefined>;

const user = 'kubelet';
/** Of `getent`: there is no such entry. */
const unknownEntry = 2;

/** Throws in upstream's words when the two ranges cannot be had, or differ. */
export async function subordinateIds(
  run: RunProgram = runProgram,
  users: () => Promise<string> = () => readFile('/etc/passwd', 'utf8'),
): Promise<IdRange | undefined> {
  if (!(await isKnown(run, users))) return undefined;
  const of = async (what: string, args: readonly string[]) => {
    try {
      return await run('getsubids', args);
    } catch (error) {
      throw new Error(`error retrieving additional ${what} for user "${user}"`, { cause: error });
    }
  };
  const uids = await of('uids', [user]);
  if (uids === undefined) return undefined;
  if ((await of('gids', ['-g', user])) !== uids) throw new Error(`mismatched subuids and subgids for user "${user}"`);
  return parseRange(uids);
}

/** Users may be kept elsewhere than in the machine's file, where only `getent` finds them: not being told is not the same as no user. */
async function isKnown(run: RunProgram, users: () => Promise<string>): Promise<boolean> {
  try {
    const entry = await run('getent', ['passwd', user]);
    return entry !== undefined || (await users()).split('\n').some((line) => line.startsWith(`${user}:`));
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === unknownEntry) return false;
    throw new Error(`error looking up user "${user}": ${messageOf(error)}`, { cause: error });
  }
}

/** `0: kubelet 65536 7208960` */
function parseRange(output: string): IdRange {
  const lines = output.replace(/^\n+|\n+$/g, '').split('\n');
  const quoted = JSON.stringify(output);
  if (lines.length !== 1) throw new Error(`error parsing line ${quoted}: it must contain only one line`);
  const parts = lines[0]!.split(/\s+/).filter(Boolean);
  if (parts.length !== 4) throw new Error(`invalid line ${quoted}`);
  const [firstId = Number.NaN, length = Number.NaN] = parts.slice(2).map(Number);
  if (![firstId, length].every((id) => Number.isInteger(id) && id >= 0 && id < 2 ** 32))
    throw new Error(`error parsing line ${quoted}`);
  return { firstId, length };
}

async function runProgram(program: string, args: readonly string[]): Promise<string | undefined> {
  try {
    return (await promisify(execFile)(program, [...args])).stdout;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
