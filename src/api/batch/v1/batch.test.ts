import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  assertErrors,
  type BadInput,
  created,
  errorsOf,
  given,
  merged,
  rowOf,
  updateErrorsOf,
} from '../../given.fixture.ts';
import { cronJobBehaviour } from './cron-job.ts';
import { parseCronSchedule } from './cron-schedule.ts';
import { countIndexes, parseIndexList } from './index-list.ts';
import { jobBehaviour } from './job.ts';

const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a:1' }] } };
const job = { metadata: { name: 'pi', namespace: 'default', uid: 'u1' }, spec: { template } };
const cronJob = {
  metadata: { name: 'nightly', namespace: 'default', creationTimestamp: '2025-12-31T00:00:00Z' },
  spec: { schedule: '0 3 * * *', jobTemplate: { spec: { template } } },
};

describe('a Job', () => {
  it('runs one Pod to its end, by default', () => {
    const { template: _, ...spec } = given(jobBehaviour, job).spec;
    assert.deepEqual(spec, {
      parallelism: 1,
      completions: 1,
      backoffLimit: 6,
      completionMode: 'NonIndexed',
      suspend: false,
      podReplacementPolicy: 'TerminatingOrFailed',
      manualSelector: false,
    });
  });

  it('runs a queue when it says how many Pods at once, but not how many altogether', () => {
    const { spec } = given(jobBehaviour, merged(job, { spec: { parallelism: 3 } }));
    assert.equal(spec.parallelism, 3);
    assert.equal(spec.completions, undefined);
  });

  it('makes its own selector and labels its template, and itself where it has no labels', () => {
    const { metadata, spec } = created(jobBehaviour, job);
    assert.deepEqual(metadata.labels, spec.template.metadata?.labels);
    const labelled = created(jobBehaviour, merged(job, { metadata: { labels: { a: 'b' } } }));
    assert.deepEqual(labelled.metadata.labels, { a: 'b' });
    assert.deepEqual(spec.selector, { matchLabels: { 'batch.kubernetes.io/controller-uid': 'u1' } });
    assert.deepEqual(spec.template.metadata?.labels, {
      'batch.kubernetes.io/controller-uid': 'u1',
      'batch.kubernetes.io/job-name': 'pi',
      'controller-uid': 'u1',
      'job-name': 'pi',
    });
  });

  const good = created(jobBehaviour, job);
  const cases: readonly BadInput[] = [
    {
      title: 'restarts its containers for ever',
      changes: { spec: { template: { spec: { restartPolicy: 'Always' } } } },
      errors: ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
    },
    {
      title: 'counts below nothing',
      changes: { spec: { parallelism: -1, backoffLimit: -1, activeDeadlineSeconds: -1, ttlSecondsAfterFinished: -1 } },
      errors: [
        'spec.parallelism: Invalid value: -1: must be greater than or equal to 0',
        'spec.activeDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0',
        'spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0',
        'spec.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0',
      ],
    },
    {
      title: 'is indexed without an end',
      changes: { spec: { completionMode: 'Indexed', completions: null, parallelism: 2 } },
      errors: ['spec.completions: Required value: when completion mode is Indexed'],
    },
  ];
  it('is good before it is made bad', () => assert.deepEqual(errorsOf(jobBehaviour, good), []));
  for (const bad of cases) it(bad.title, () => assertErrors(jobBehaviour, good, bad));

  it('keeps its number of completions', () => {
    const next = merged(good, { spec: { completions: 2 } });
    assert.deepEqual(updateErrorsOf(jobBehaviour, good, next), [
      'spec.completions: Invalid value: 2: field is immutable',
    ]);
  });

  it('may change its parallelism', () => {
    assert.deepEqual(updateErrorsOf(jobBehaviour, good, merged(good, { spec: { parallelism: 4 } })), []);
  });

  const states: readonly (readonly [text: string, status: object])[] = [
    ['Running', {}],
    ['Complete', { conditions: [{ type: 'Complete', status: 'True' }] }],
    ['Failed', { conditions: [{ type: 'Failed', status: 'True' }] }],
    ['Suspended', { conditions: [{ type: 'Suspended', status: 'True' }] }],
    ['FailureTarget', { conditions: [{ type: 'FailureTarget', status: 'True' }] }],
  ];
  for (const [text, status] of states) {
    it(`is shown as ${text}`, () => assert.equal(rowOf(jobBehaviour, { ...job, status }).Status, text));
  }

  it('shows what it has done, and how long it took', () => {
    const status = { succeeded: 1, startTime: '2025-12-31T23:00:00Z', completionTime: '2025-12-31T23:01:30Z' };
    const row = rowOf(jobBehaviour, { ...job, status });
    assert.equal(row.Completions, '1/1');
    assert.equal(row.Duration, '90s');
  });
});

describe('a CronJob', () => {
  it('allows concurrent Jobs and keeps some of them, by default', () => {
    const { schedule, jobTemplate: _, ...spec } = given(cronJobBehaviour, cronJob).spec;
    assert.equal(schedule, '0 3 * * *');
    assert.deepEqual(spec, {
      concurrencyPolicy: 'Allow',
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
    });
  });

  const cases: readonly BadInput[] = [
    {
      title: 'has a schedule of too few parts',
      changes: { spec: { schedule: '* *' } },
      errors: ['spec.schedule: Invalid value: "* *": expected exactly 5 fields, found 2: [* *]'],
    },
    {
      title: 'puts the time zone into the schedule',
      changes: { spec: { schedule: 'TZ=UTC 0 3 * * *' } },
      errors: [
        'spec.schedule: Invalid value: "TZ=UTC 0 3 * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
      ],
    },
    {
      title: 'lives in a time zone that does not exist',
      changes: { spec: { timeZone: 'Moon/Crater' } },
      errors: ['spec.timeZone: Invalid value: "Moon/Crater": unknown time zone Moon/Crater'],
    },
    {
      title: 'has a policy that is none',
      changes: { spec: { concurrencyPolicy: 'Maybe' } },
      errors: ['spec.concurrencyPolicy: Unsupported value: "Maybe": supported values: "Allow", "Forbid", "Replace"'],
    },
  ];
  it('is good before it is made bad', () => assert.deepEqual(errorsOf(cronJobBehaviour, cronJob), []));
  for (const bad of cases) it(bad.title, () => assertErrors(cronJobBehaviour, cronJob, bad));

  it('has a name that leaves room for its Jobs', () => {
    const [error = ''] = errorsOf(cronJobBehaviour, merged(cronJob, { metadata: { name: 'a'.repeat(53) } }));
    assert.match(error, /^metadata.name: Invalid value: "a+": must be no more than 52 characters$/);
  });

  it('shows when it last ran', () => {
    const status = { lastScheduleTime: '2025-12-31T23:59:00Z', active: [{ kind: 'Job', name: 'a' }] };
    const row = rowOf(cronJobBehaviour, { ...cronJob, status });
    assert.equal(row.Schedule, '0 3 * * *');
    assert.equal(row.Timezone, '<none>');
    assert.equal(row.Suspend, 'False');
    assert.equal(row.Active, 1);
    assert.equal(row['Last Schedule'], '60s');
  });
});

describe('a cron schedule', () => {
  for (const good of ['* * * * *', '*/5 0-6,22 1 JAN-MAR mon', '@hourly', '@every 1h30m', '0 0 ? * *']) {
    it(`may be ${good}`, () => assert.doesNotThrow(() => parseCronSchedule(good)));
  }
  const bad: readonly (readonly [schedule: string, problem: RegExp])[] = [
    ['60 * * * *', /end of range \(60\) above maximum \(59\): 60/],
    ['5-1 * * * *', /beginning of range \(5\) beyond end of range \(1\): 5-1/],
    ['*/0 * * * *', /step of range should be a positive number: \*\/0/],
    ['a * * * *', /failed to parse int from a/],
    ['@never', /unrecognized descriptor: @never/],
  ];
  for (const [schedule, problem] of bad) {
    it(`may not be ${schedule}`, () => assert.throws(() => parseCronSchedule(schedule), problem));
  }
});

describe('a list of indexes', () => {
  it('is numbers and ranges that grow', () => {
    const ranges = parseIndexList('1,3-5,7', 10);
    assert.deepEqual(ranges, [
      [1, 1],
      [3, 5],
      [7, 7],
    ]);
    assert.equal(countIndexes(ranges), 5);
    assert.deepEqual(parseIndexList('', 10), []);
  });

  const bad: readonly (readonly [text: string, problem: RegExp])[] = [
    ['3,1', /non-increasing order, previous: 3, current: 1/],
    ['5-3', /non-increasing order, previous: 5, current: 3/],
    ['1-2-3', /the fragment "1-2-3" violates the requirement/],
    ['a', /cannot convert string to integer for index: "a"/],
    ['10', /too large index: "10"/],
  ];
  for (const [text, problem] of bad) it(`is not ${text}`, () => assert.throws(() => parseIndexList(text, 10), problem));
});
