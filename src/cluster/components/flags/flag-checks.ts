/**
 * What flags may not say although each of them can be read: ports, address ranges and numbers that lead nowhere, in the words of upstream's
 * components. It reads values and throws; what they configure is others' matter.
 */
import { parseCidr } from '../../../apimachinery/addresses.ts';
import { aggregate } from '../../../apimachinery/go-text.ts';
import { admissionProblems } from '../../../apiserver/admission/admission-plugins.ts';
import { unknownGroupVersions } from '../../../apiserver/resources.ts';
import { FlagError } from '../../../serving/flags.ts';
import type { GivenFlags } from './given-flags.ts';

/** Throws all problems as one `FlagError`, as Go's aggregates are printed. */
export function refuseProblems(problems: readonly string[]): void {
  if (problems.length > 0) throw new FlagError(aggregate(problems));
}

const mostPorts = 65_535;

function isPort(port: number, least: number): boolean {
  return port >= least && port <= mostPorts;
}

/** `--secure-port` of the scheduler and the controllers. */
export function securePortProblems(port: number): readonly string[] {
  if (isPort(port, 0)) return [];
  return [`--secure-port ${port} must be between 0 and 65535, inclusive. 0 for turning off secure port`];
}

/** Where an API server of its own stands. Here port 0 is any that is free. */
export function refuseApiServerPlace(given: GivenFlags, serviceCidrs: readonly string[]): void {
  const [first = '', second] = serviceCidrs;
  const [primary, secondary] = [parseCidr(first), second === undefined ? undefined : parseCidr(second)];
  if (!primary) throw new FlagError('service-cluster-ip-range[0] is not a valid cidr');
  if (second !== undefined && !secondary) throw new FlagError('service-cluster-ip-range[1] is not an ip net');
  const port = given.number('secure-port');
  const nodePort = given.number('kubernetes-service-node-port');
  const problems = [
    serviceCidrs.length > 2 && '--service-cluster-ip-range must not contain more than two entries',
    secondary?.family === primary.family &&
      '--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family',
    !isPort(nodePort, 0) &&
      `--kubernetes-service-node-port ${nodePort} must be between 0 and 65535, inclusive. If 0, the Kubernetes master service will be of type ClusterIP`,
    !isPort(port, 0) && `--secure-port ${port} must be between 1 and 65535, inclusive. It cannot be turned off with 0`,
  ];
  refuseProblems(problems.filter((problem) => problem !== false));
}

const mostGoaway = 0.02;

/** What an API server does, be it alone or one of `coracle up`. */
export function refuseApiServerPolicy(given: GivenFlags): void {
  const goaway = given.number('goaway-chance');
  const problems = Object.entries({
    'max-requests-inflight': given.number('max-requests-inflight'),
    'max-mutating-requests-inflight': given.number('max-mutating-requests-inflight'),
    'request-timeout': given.milliseconds('request-timeout'),
    'min-request-timeout': given.number('min-request-timeout'),
    'shutdown-delay-duration': given.milliseconds('shutdown-delay-duration'),
  })
    .filter(([, value]) => value < 0)
    .map(([name]) => `--${name} can not be negative value`);
  if (goaway < 0 || goaway > mostGoaway) problems.push('--goaway-chance can not be less than 0 or greater than 0.02');
  problems.push(...admissionProblems(given.list('enable-admission-plugins'), given.list('disable-admission-plugins')));
  refuseProblems([...problems, ...runtimeConfigProblems(given.map('runtime-config'))]);
}

const allVersions = new Set(['api/all', 'api/ga', 'api/beta', 'api/alpha']);

function runtimeConfigProblems(values: Readonly<Record<string, string>>): readonly string[] {
  const keys = Object.keys(values).filter((key) => !allVersions.has(key));
  const invalid = keys.find((key) => ![2, 3].includes(key.split('/').length));
  if (invalid !== undefined) return [`runtime-config invalid key ${invalid}`];
  if (values['api/all'] === 'false' && Object.keys(values).length === 1)
    return ['invalid runtime-config with only api/all=false'];
  const unknown = unknownGroupVersions(keys.map((key) => key.split('/').slice(0, 2).join('/')));
  return unknown.length === 0 ? [] : [`unknown api groups ${unknown.join(',')}`];
}
