/**
 * Packages from Debian's or Ubuntu's archive, by `apt-get`, without questions: what the machine's own lists know is installed at once, and only
 * where that fails are the lists fetched. An installation that was interrupted before is finished first, another one that runs is waited
 * for. What cannot be mended from here is told in apt's own words, with what to do next.
 */
import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { type Clock, sleep } from '../../base/clock.ts';
import { CommandError } from '../command-error.ts';
import type { ThisMachine } from './machine.ts';

export interface InstallationOptions {
  readonly machine: Pick<ThisMachine, 'path' | 'environment'>;
  readonly clock: Clock;
  /** What is done beyond what was asked for. */
  readonly say: (line: string) => void;
  /** How far it is. */
  readonly note: (text: string) => void;
  /** Ends downloads; what is being set up is finished. */
  readonly signal: AbortSignal;
}

/** How long whoever else installs something is waited for in all, as a fresh machine's automatic updates do. */
const patienceMs = 300_000;
const askAgainMs = 1000;

/** Files of configuration that are left of an earlier installation stay as they are: nobody is there to answer. */
const keepFiles = ['--force-confdef', '--force-confold'];

/** Throws a `CommandError` that says why not, and what to type. */
export async function installPackages(names: readonly string[], options: InstallationOptions): Promise<void> {
  const apt = new Apt(options);
  let result = await apt.install(names);
  if (wasInterrupted(result)) {
    options.say('finishing an installation that was interrupted: dpkg --configure -a');
    await apt.run('dpkg', [...keepFiles, '--configure', '-a']);
    result = await apt.install(names);
  }
  if (result.status === 0) return;
  const listing = await apt.update();
  options.signal.throwIfAborted();
  result = await apt.install(names);
  options.signal.throwIfAborted();
  if (result.status !== 0) throw refusal(names, { result, listing });
}

interface Result {
  readonly status: number | null;
  /** What it complained of. */
  readonly problems: string;
}

class Apt {
  readonly #options: InstallationOptions;
  readonly #environment: Readonly<Record<string, string | undefined>>;
  #patienceLeftMs = patienceMs;

  constructor(options: InstallationOptions) {
    this.#options = options;
    this.#environment = {
      ...options.machine.environment,
      PATH: [...options.machine.path, '/usr/sbin', '/sbin'].join(':'),
      DEBIAN_FRONTEND: 'noninteractive',
      // Ubuntu's way of restarting services after each installation: none of ours is one that runs.
      NEEDRESTART_SUSPEND: '1',
      // Complaints are read here.
      LC_ALL: 'C',
    };
  }

  install(names: readonly string[]): Promise<Result> {
    const forDpkg = keepFiles.flatMap((option) => ['-o', `Dpkg::Options::=${option}`]);
    return this.#aptGet(['install', '-y', '--no-install-recommends', ...forDpkg, ...names]);
  }

  /** Lists that cannot be fetched are a failure, not a warning. */
  update(): Promise<Result> {
    return this.#aptGet(['-o', 'APT::Update::Error-Mode=any', 'update']);
  }

  /** Waits for others here: apt itself waits for some of its locks only, and in silence. */
  async #aptGet(words: readonly string[]): Promise<Result> {
    const { clock, say, signal } = this.#options;
    let told: string | undefined;
    for (;;) {
      const askedAt = clock.monotonic();
      const result = await this.run('apt-get', ['-qq', '-o', 'APT::Status-Fd=3', ...words], { reports: true });
      if (result.status === 0 || !isLocked(result) || this.#patienceLeftMs <= 0) return result;
      const [, holder = 'another program'] = /It is held by (process \d+ \(.*?\))/.exec(result.problems) ?? [];
      if (told !== holder) say(`waiting for ${holder}, which installs something`);
      told = holder;
      await sleep(clock, askAgainMs, signal);
      this.#patienceLeftMs -= clock.monotonic() - askedAt;
    }
  }

  /** With `reports`, the program writes its progress to its third file, as apt does when told to. */
  async run(program: string, words: readonly string[], { reports = false } = {}): Promise<Result> {
    const { clock, note, signal } = this.#options;
    signal.throwIfAborted();
    const child = spawn(program, words, {
      env: { ...this.#environment },
      stdio: ['ignore', 'ignore', 'pipe', reports ? 'pipe' : 'ignore'],
    });
    const giveUp = () => child.kill('SIGINT');
    signal.addEventListener('abort', giveUp, { once: true });
    let problems = '';
    const pipes = [
      hear(child.stderr as Socket | null, (text) => {
        problems += text;
      }),
      hear(child.stdio[3] as Socket | null, progressOf(note)),
    ];
    const closed = new Promise<void>((done) => child.once('close', () => done()));
    try {
      const status = await new Promise<number | null>((ended, failed) => {
        child.once('exit', ended);
        child.once('error', failed);
      });
      // What a package has started may keep our end open for ever; what apt itself said is here by then.
      await Promise.race([closed, sleep(clock, 500)]);
      return { status, problems };
    } catch (error) {
      return { status: null, problems: `E: ${(error as Error).message}` };
    } finally {
      signal.removeEventListener('abort', giveUp);
      for (const letGo of pipes) letGo();
    }
  }
}

/** Lines such as `pmstatus:runc:42.8571:Unpacking runc (amd64)`. */
function progressOf(note: (text: string) => void): (text: string) => void {
  let rest = '';
  return (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const [, percent, what] = /^(?:dl|pm)status:[^:]*:([\d.]+):(.*)$/.exec(line) ?? [];
      if (what) note(`${Math.floor(Number(percent))} %, ${what}`);
    }
  };
}

/**
 * Calls back until what it returns is called. From then on what comes is read and dropped, and nobody is held up by it: a service that a package
 * has started may write for as long as it lives, and would die of a pipe that is closed.
 */
function hear(pipe: Socket | null, onText: (text: string) => void): () => void {
  pipe?.setEncoding('utf8').on('data', onText);
  pipe?.on('error', () => {});
  return () => {
    pipe?.off('data', onText).resume();
    pipe?.unref();
  };
}

function wasInterrupted({ status, problems }: Result): boolean {
  return status !== 0 && problems.includes('dpkg was interrupted');
}

function isLocked({ problems }: Result): boolean {
  return problems.includes('Could not get lock');
}

interface Failure {
  readonly result: Result;
  /** Of fetching the lists before. */
  readonly listing: Result;
}

function refusal(names: readonly string[], { result, listing }: Failure): CommandError {
  const byHand = `apt-get install ${names.join(' ')}`;
  const instead = 'or use --runtime simulated';
  const why = complaint(result);
  if (isLocked(result))
    return new CommandError(
      `apt-get could not install ${names.join(', ')}, for another program installs something: ${why}`,
      'Wait until that one has ended, then try again.',
    );
  if (/unmet dependencies|fix-broken/i.test(result.problems))
    return new CommandError(
      `apt-get could not install ${names.join(', ')}: ${why}`,
      `Mend this machine's packages first (apt-get --fix-broken install), then try again, ${instead}.`,
    );
  const unknown = [...result.problems.matchAll(unknownPackage)].map((match) => match[1] ?? match[2]);
  if (listing.status !== 0)
    return new CommandError(
      `apt-get could not install ${names.join(', ')}, and not fetch package lists before: ${complaint(listing)}`,
      `Give this machine a way to its package mirror (network, name servers, proxy, /etc/apt/sources.list), or install them by hand (${byHand}), ${instead}.`,
    );
  if (unknown.length > 0)
    return new CommandError(
      `apt-get knows no package ${unknown.join(', ')}.`,
      `Add the part of the archive that has it to apt's sources (main of Debian, universe of Ubuntu), or install them by hand (${byHand}), ${instead}.`,
    );
  return new CommandError(
    `apt-get could not install ${names.join(', ')}: ${why}`,
    `Try it by hand (${byHand}), ${instead}.`,
  );
}

const unknownPackage = /^E: (?:Unable to locate package (\S+)|Package '([^']+)' has no installation candidate)$/gm;

/** Its first error, or warning: what follows comes of it. */
function complaint({ problems, status }: Result): string {
  const lines = problems.split('\n').map((line) => line.trim());
  const first = lines.find((line) => line.startsWith('E: ')) ?? lines.find((line) => line.startsWith('W: '));
  return (first ?? lines.findLast(Boolean) ?? `it ended with status ${status}`).replace(/^[EW]: /, '');
}
