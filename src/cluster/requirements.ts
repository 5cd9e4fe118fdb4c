/**
 * What a real node needs from the machine: programs from Debian's or Ubuntu's packages, and root. Says what is missing, installs
 * it when allowed, and otherwise names the command to type.
 */
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { CommandError } from './command-error.ts';

interface Requirement {
  readonly program: string;
  /** Folders besides PATH where it may lie. */
  readonly places: readonly string[];
  readonly package: string;
  readonly purpose: string;
}

const requirements: readonly Requirement[] = [
  { program: 'containerd', places: [], package: 'containerd', purpose: 'the container runtime' },
  { program: 'runc', places: ['/usr/sbin'], package: 'runc', purpose: 'starts the containers' },
  {
    program: 'bridge',
    places: ['/usr/lib/cni', '/opt/cni/bin'],
    package: 'containernetworking-plugins',
    purpose: 'gives Pods their network',
  },
  { program: 'nft', places: ['/usr/sbin'], package: 'nftables', purpose: 'carries Services' },
  { program: 'conntrack', places: ['/usr/sbin'], package: 'conntrack', purpose: 'forgets connections to ended Pods' },
  { program: 'ip', places: ['/usr/sbin', '/sbin'], package: 'iproute2', purpose: 'sets up addresses and routes' },
  { program: 'iptables', places: ['/usr/sbin', '/sbin'], package: 'iptables', purpose: 'maps host ports' },
];

export interface Machine {
  /** Folders searched for programs, as PATH gives them. */
  readonly path: readonly string[];
  readonly isRoot: boolean;
}

/** The file of a program, or undefined. */
export function findProgram(
  machine: Machine,
  program: string,
  places: readonly string[] = ['/usr/sbin', '/sbin'],
): string | undefined {
  // `bridge` is also a command of iproute2: the plugin's own folders come first, and PATH only where a program has none.
  const folders = program === 'bridge' ? places : [...machine.path, ...places];
  return folders
    .map((folder) => join(folder, program))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

export function cniPluginFolder(): string {
  return existsSync('/usr/lib/cni/bridge') ? '/usr/lib/cni' : '/opt/cni/bin';
}

export interface MissingRequirement {
  readonly package: string;
  readonly purpose: string;
}

/** With a runtime of the user's own, containerd and runc are not asked for. */
export function missingRequirements(machine: Machine, ownRuntime: boolean): MissingRequirement[] {
  return requirements
    .filter((requirement) => !ownRuntime || !['containerd', 'runc'].includes(requirement.program))
    .filter((requirement) => findProgram(machine, requirement.program, requirement.places) === undefined)
    .map(({ package: name, purpose }) => ({ package: name, purpose }));
}

/** Installs with apt, saying what it does. Throws a `CommandError` with the command to type when that is not possible. */
export function installRequirements(
  machine: Machine,
  missing: readonly MissingRequirement[],
  say: (line: string) => void,
): void {
  if (missing.length === 0) return;
  const names = missing.map((requirement) => requirement.package);
  const byHand = `apt-get install ${names.join(' ')}`;
  if (!machine.isRoot)
    throw new CommandError(
      `missing on this machine: ${names.join(', ')}.`,
      `Install them as root (${byHand}), or use --runtime simulated.`,
    );
  if (!findProgram(machine, 'apt-get', ['/usr/bin']))
    throw new CommandError(
      `missing on this machine: ${names.join(', ')}, and there is no apt-get to install them with.`,
      'Install them with your package manager, or use --runtime simulated.',
    );
  for (const requirement of missing) say(`installing ${requirement.package}: ${requirement.purpose}`);
  const environment = {
    ...Object.fromEntries(machine.path.length ? [['PATH', machine.path.join(':')]] : []),
    DEBIAN_FRONTEND: 'noninteractive',
  };
  const apt = (...words: string[]) => spawnSync('apt-get', ['-qq', ...words], { env: environment, encoding: 'utf8' });
  const updated = apt('update');
  const result = apt('install', '-y', '--no-install-recommends', ...names);
  if (result.status === 0) return;
  const before = updated.status === 0 ? '' : ` (apt-get update had failed before: ${lastWords(updated)})`;
  throw new CommandError(
    `apt-get could not install ${names.join(', ')}: ${lastWords(result)}${before}`,
    `Try it by hand (${byHand}), or use --runtime simulated.`,
  );
}

function lastWords({ stderr, error }: SpawnSyncReturns<string>): string {
  return (stderr || error?.message || '').trim().split('\n').pop() ?? '';
}
