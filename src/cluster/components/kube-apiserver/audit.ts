/**
 * The audit log of `kube-apiserver` from its flags: a policy file, and a file of lines or a webhook, or both. Without a policy, or
 * without anywhere to write to, nothing is audited.
 */
import { errorsText } from '../../../apimachinery/field-error.ts';
import { Auditor } from '../../../apiserver/audit/auditor.ts';
import { batchingSink } from '../../../apiserver/audit/batching-sink.ts';
import { type AuditPolicy, validateAuditPolicy } from '../../../apiserver/audit/policy.ts';
import { rotatingFile } from '../../../apiserver/audit/rotating-file.ts';
import {
  type AuditSink,
  type LineWriter,
  type LogFormat,
  lenientSink,
  logSink,
  truncatingSink,
  unionSink,
} from '../../../apiserver/audit/sink.ts';
import { webhookSink } from '../../../apiserver/audit/webhook-sink.ts';
import { serverWebhook } from '../../../apiserver/webhook-client/webhook-clients.ts';
import { FlagError } from '../../../serving/flags.ts';
import { CommandError } from '../../command-error.ts';
import type { ComponentEnvironment } from '../flags/component-definition.ts';
import { decodeConfiguration, readConfigurationFile } from '../flags/configuration-file.ts';
import { kubeconfigOptions } from '../flags/connection.ts';
import type { GivenFlags } from '../flags/given-flags.ts';

type Parts = Pick<ComponentEnvironment, 'clock' | 'random' | 'log'>;

const megabyte = 1024 * 1024;

/** Undefined when the flags ask for none. Throws `CommandError`. */
export async function auditorFrom(given: GivenFlags, parts: Parts): Promise<Auditor | undefined> {
  const policyPath = given.optionalText('audit-policy-file');
  const sinks = [logSinkFrom(given, parts), await webhookSinkFrom(given, parts)].filter((sink) => sink !== undefined);
  if (policyPath === undefined || sinks.length === 0) {
    if (policyPath !== undefined || sinks.length > 0)
      parts.log.warn(
        'nothing is audited: that needs --audit-policy-file, and --audit-log-path or --audit-webhook-config-file',
      );
    return undefined;
  }
  const sink = sinks.length === 1 ? sinks[0]! : unionSink(sinks);
  return new Auditor({ policy: readPolicy(policyPath, parts), sink, clock: parts.clock });
}

function readPolicy(path: string, { log }: Parts): AuditPolicy {
  const flag = '--audit-policy-file';
  const policy = decodeConfiguration(path, readConfigurationFile(path, flag), {
    kind: 'Policy',
    apiVersion: 'audit.k8s.io/v1',
    flag,
    onUnknownField: (problem) => log.warn('audit policy contains errors, which are passed over', { problem }),
  }) as unknown as AuditPolicy;
  const rules = policy.rules ?? [];
  const errors = validateAuditPolicy({ ...policy, rules });
  if (errors.length > 0) throw new CommandError(`${flag} ${path}: ${errorsText(errors)}`, 'Correct the policy.');
  if (rules.length === 0)
    throw new CommandError(`${flag} ${path}: loaded illegal policy with 0 rules`, 'Add a rule, as in docs/audit.md.');
  return { ...policy, rules };
}

function logSinkFrom(given: GivenFlags, parts: Parts): AuditSink | undefined {
  const path = given.optionalText('audit-log-path');
  const format = given.text('audit-log-format');
  const limits = {
    maxBytes: given.number('audit-log-maxsize') * megabyte,
    maxBackups: given.number('audit-log-maxbackup'),
    maxAgeDays: given.number('audit-log-maxage'),
    compress: given.flag('audit-log-compress'),
  };
  const settings = modeFrom(given, 'audit-log', parts);
  if (path === undefined) return undefined;
  checkMode(given, 'log');
  if (format !== 'json' && format !== 'legacy')
    throw new CommandError(`invalid audit log format ${format}`, 'Allowed formats are "legacy,json".');
  const writer = path === '-' ? standardOutput : openLog(path, { ...limits, clock: parts.clock });
  return settings(logSink(writer, { format: format as LogFormat, log: parts.log }), false);
}

const standardOutput: LineWriter = { write: (text) => void process.stdout.write(text), close: () => undefined };

function openLog(path: string, options: Omit<Parameters<typeof rotatingFile>[0], 'path'>): LineWriter {
  try {
    return rotatingFile({ path, ...options });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(`--audit-log-path ${path} cannot be opened (${code}).`, 'Choose another path.');
  }
}

async function webhookSinkFrom(given: GivenFlags, parts: Parts): Promise<AuditSink | undefined> {
  const path = given.optionalText('audit-webhook-config-file');
  const initialBackoffMs = given.milliseconds('audit-webhook-initial-backoff');
  const settings = modeFrom(given, 'audit-webhook', parts);
  if (path === undefined) return undefined;
  checkMode(given, 'webhook');
  const server = await kubeconfigOptions(path, { flag: '--audit-webhook-config-file', clock: parts.clock });
  const { webhook, close } = serverWebhook(server, parts);
  const sink = webhookSink(webhook, { ...parts, initialBackoffMs });
  const closing: AuditSink = {
    process: (events) => sink.process(events),
    async close() {
      await sink.close();
      close();
    },
  };
  return settings(closing, true);
}

const modes = ['batch', 'blocking', 'blocking-strict'];

/** Numbers that batches cannot be made by are refused, where batches are made. */
function checkMode(given: GivenFlags, plugin: 'log' | 'webhook'): void {
  const prefix = `audit-${plugin}`;
  const mode = given.text(`${prefix}-mode`);
  if (!modes.includes(mode)) {
    throw new FlagError(`invalid audit ${plugin} mode ${mode}, allowed modes are "${modes.join(',')}"`);
  }
  if (mode !== 'batch') return;
  const wanted: readonly (readonly [flag: string, what: string])[] = [
    ['buffer-size', 'buffer size'],
    ['max-size', 'max batch size'],
    ...(given.flag(`${prefix}-batch-throttle-enable`)
      ? [['throttle-qps', 'throttle QPS'] as const, ['throttle-burst', 'throttle burst'] as const]
      : []),
  ];
  for (const [flag, what] of wanted) {
    const value = given.number(`${prefix}-batch-${flag}`);
    if (value <= 0) {
      throw new FlagError(`invalid audit batch ${plugin} ${what} ${value}, must be a positive number`);
    }
  }
}

/** What `--audit-log-...` and `--audit-webhook-...` have in common, around either sink. */
function modeFrom(given: GivenFlags, prefix: string, { clock, log }: Parts) {
  const number = (name: string) => given.number(`${prefix}-${name}`);
  const mode = given.text(`${prefix}-mode`);
  const truncates = given.flag(`${prefix}-truncate-enabled`);
  const truncation = {
    maxEventBytes: number('truncate-max-event-size'),
    maxBatchBytes: number('truncate-max-batch-size'),
    log,
  };
  const throttles = given.flag(`${prefix}-batch-throttle-enable`);
  const throttle = { perSecond: number('batch-throttle-qps'), burst: number('batch-throttle-burst') };
  const batching = {
    clock,
    log,
    bufferSize: number('batch-buffer-size'),
    maxBatchSize: number('batch-max-size'),
    maxWaitMs: given.milliseconds(`${prefix}-batch-max-wait`),
    throttle: throttles ? throttle : undefined,
  };
  return (sink: AuditSink, concurrent: boolean): AuditSink => {
    const ordered = mode === 'batch' ? batchingSink(sink, { ...batching, concurrent }) : sink;
    const patient = mode === 'blocking-strict' ? ordered : lenientSink(ordered);
    return truncates ? truncatingSink(patient, truncation) : patient;
  };
}
