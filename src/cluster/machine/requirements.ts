/** What a real node needs from the machine: programs from Debian's or Ubuntu's packages. Says what is missing; `processes/step.ts` installs it. */
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';

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

export type MissingRequirement = Pick<Requirement, 'program' | 'package' | 'purpose'>;

/** With a runtime of the user's own, containerd and runc are not asked for. */
export function missingRequirements(machine: Machine, ownRuntime: boolean): MissingRequirement[] {
  return requirements
    .filter((requirement) => !ownRuntime || !['containerd', 'runc'].includes(requirement.program))
    .filter((requirement) => findProgram(machine, requirement.program, requirement.places) === undefined)
    .map(({ program, package: name, purpose }) => ({ program, package: name, purpose }));
}
