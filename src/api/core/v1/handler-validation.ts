/** Probes and lifecycle hooks: exactly one kind of handler each, and its particulars. */
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../apimachinery/field-error.ts';
import { httpHeaderName } from '../../../apimachinery/names.ts';
import type {
  ExecAction,
  GRPCAction,
  HTTPGetAction,
  Lifecycle,
  PodOS,
  Probe,
  SleepAction,
  TCPSocketAction,
} from '../../gen/core-v1.ts';
import { refused, validateNonNegative, validatePortNumberOrName } from '../../validation.ts';

interface Handler {
  readonly exec?: ExecAction | undefined;
  readonly httpGet?: HTTPGetAction | undefined;
  readonly tcpSocket?: TCPSocketAction | undefined;
  readonly grpc?: GRPCAction | undefined;
  readonly sleep?: SleepAction | undefined;
}

export type ProbeRole = 'livenessProbe' | 'readinessProbe' | 'startupProbe';

export function validateProbe(at: FieldPath, probe: Probe | undefined, role: ProbeRole): FieldError[] {
  if (!probe) return [];
  const errors = validateHandler(at, probe, undefined);
  for (const field of [
    'initialDelaySeconds',
    'timeoutSeconds',
    'periodSeconds',
    'successThreshold',
    'failureThreshold',
  ] as const) {
    errors.push(...validateNonNegative(at.child(field), probe[field]));
  }
  const grace = probe.terminationGracePeriodSeconds;
  const graceAt = at.child('terminationGracePeriodSeconds');
  if (grace != null && grace <= 0) errors.push(invalid(graceAt, grace, 'must be greater than 0'));
  if (role === 'readinessProbe') {
    if (grace != null) errors.push(invalid(graceAt, grace, 'must not be set for readinessProbes'));
  } else if (probe.successThreshold !== 1) {
    errors.push(invalid(at.child('successThreshold'), probe.successThreshold ?? 0, 'must be 1'));
  }
  return errors;
}

export function validateLifecycle(
  at: FieldPath,
  { postStart, preStop, stopSignal }: Lifecycle,
  pod: { readonly graceSeconds: number | undefined; readonly os: PodOS | undefined },
): FieldError[] {
  return [
    ...(postStart ? validateHandler(at.child('postStart'), postStart, pod.graceSeconds) : []),
    ...(preStop ? validateHandler(at.child('preStop'), preStop, pod.graceSeconds) : []),
    ...(stopSignal ? validateStopSignal(at.child('stopSignal'), stopSignal, pod.os) : []),
  ];
}

function validateHandler(at: FieldPath, handler: Handler, graceSeconds: number | undefined): FieldError[] {
  const { exec, httpGet, tcpSocket, grpc, sleep } = handler;
  const found: [kind: string, errors: () => FieldError[]][] = [];
  if (exec) found.push(['exec', () => (exec.command?.length ? [] : [required(at.child('exec', 'command'))])]);
  if (httpGet) found.push(['httpGet', () => validateHttpGet(at.child('httpGet'), httpGet)]);
  if (tcpSocket) {
    found.push(['tcpSocket', () => validatePortNumberOrName(at.child('tcpSocket', 'port'), tcpSocket.port)]);
  }
  if (grpc) found.push(['grpc', () => validatePortNumberOrName(at.child('grpc', 'port'), grpc.port)]);
  if (sleep) found.push(['sleep', () => validateSleep(at.child('sleep'), sleep, graceSeconds)]);
  if (found.length === 0) return [required(at, 'must specify a handler type')];
  const [[, first], ...others] = found as [(typeof found)[number], ...typeof found];
  return [...first(), ...others.map(([kind]) => forbidden(at.child(kind), 'may not specify more than 1 handler type'))];
}

function validateHttpGet(at: FieldPath, http: HTTPGetAction): FieldError[] {
  const errors = http.path ? [] : [required(at.child('path'))];
  errors.push(...validatePortNumberOrName(at.child('port'), http.port));
  if (http.scheme !== 'HTTP' && http.scheme !== 'HTTPS') {
    errors.push(notSupported(at.child('scheme'), http.scheme ?? '', ['HTTP', 'HTTPS']));
  }
  for (const { name } of http.httpHeaders ?? []) {
    errors.push(...refused(at.child('httpHeaders'), name, httpHeaderName(name)));
  }
  return errors;
}

function validateSleep(at: FieldPath, { seconds }: SleepAction, graceSeconds: number | undefined): FieldError[] {
  if (graceSeconds === undefined || (seconds >= 0 && seconds <= graceSeconds)) return [];
  return [invalid(at, seconds, `must be non-negative and less than terminationGracePeriodSeconds (${graceSeconds})`)];
}

const windowsSignals = ['SIGKILL', 'SIGTERM'];
const realTimeSignals = [
  'SIGRTMIN',
  ...Array.from({ length: 15 }, (_, i) => `SIGRTMIN+${i + 1}`),
  ...Array.from({ length: 14 }, (_, i) => `SIGRTMAX-${14 - i}`),
  'SIGRTMAX',
];
const linuxSignals = [
  ...['ABRT', 'ALRM', 'BUS', 'CHLD', 'CLD', 'CONT', 'FPE', 'HUP', 'ILL', 'INT', 'IO', 'IOT', 'KILL', 'PIPE', 'POLL'],
  ...['PROF', 'PWR', 'QUIT', 'SEGV', 'STKFLT', 'STOP', 'SYS', 'TERM', 'TRAP', 'TSTP', 'TTIN', 'TTOU', 'URG', 'USR1'],
  ...['USR2', 'VTALRM', 'WINCH', 'XCPU', 'XFSZ'],
]
  .map((name) => `SIG${name}`)
  .concat(realTimeSignals)
  .sort();

function validateStopSignal(at: FieldPath, signal: string, os: PodOS | undefined): FieldError[] {
  if (!os) return [forbidden(at, 'may not be set for containers with empty `spec.os.name`')];
  const supported = os.name === 'windows' ? windowsSignals : os.name === 'linux' ? linuxSignals : [signal];
  return supported.includes(signal) ? [] : [notSupported(at, signal, supported)];
}
