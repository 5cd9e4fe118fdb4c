import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { APIService } from '../../api/gen/apiregistration-v1.ts';
import { builtinServices, customService, type RegistrationStep, registrationStep } from './local-services.ts';

const managed = (value?: string): APIService => ({
  metadata: { name: 'v1.a', ...(value ? { labels: { 'kube-aggregator.kubernetes.io/automanaged': value } } : {}) },
  spec: { groupPriorityMinimum: 1, versionPriority: 1 },
});
const onStart = managed('onstart');
const always = managed('true');
const own = managed();

describe('what is done about an APIService', () => {
  const rows: readonly {
    readonly what: string;
    readonly desired?: APIService;
    readonly current?: APIService;
    readonly late?: boolean;
    readonly done?: boolean;
    readonly differs?: boolean;
    readonly step: RegistrationStep;
  }[] = [
    { what: 'nothing wanted, nothing there', step: 'leave' },
    { what: 'a wanted one that is missing', desired: always, step: 'create' },
    { what: 'a wanted one that is missing again', desired: always, done: true, step: 'create' },
    { what: 'a built-in one that is missing', desired: onStart, step: 'create' },
    { what: 'a built-in one deleted after the start', desired: onStart, done: true, step: 'leave' },
    { what: 'one that somebody took for himself', desired: always, current: own, differs: true, step: 'leave' },
    { what: 'a leftover of an earlier start', current: onStart, step: 'delete' },
    { what: 'one like a built-in that somebody made later', current: onStart, late: true, step: 'leave' },
    { what: 'a built-in one that differs', desired: onStart, current: onStart, differs: true, step: 'update' },
    {
      what: 'a built-in one changed later',
      desired: onStart,
      current: onStart,
      done: true,
      differs: true,
      step: 'leave',
    },
    { what: 'one whose definition is gone', current: always, done: true, step: 'delete' },
    { what: 'a custom one that differs', desired: always, current: always, done: true, differs: true, step: 'update' },
    { what: 'one that is right', desired: always, current: always, step: 'leave' },
  ];
  for (const { what, desired, current, late = false, done = false, differs = false, step } of rows) {
    it(`${what}: ${step}`, () => {
      const state = { desired, current, presentAtStart: !late, done, specsMatch: !differs };
      assert.equal(registrationStep(state), step);
    });
  }
});

describe('the APIServices of this server', () => {
  it('are those of the group versions that are on, but their own', () => {
    const all = builtinServices(() => true);
    assert.ok(!all.has('v1.apiregistration.k8s.io'));
    assert.deepEqual([...builtinServices((group) => group === 'apps').keys()], ['v1.apps']);
    assert.equal(all.get('v1.')?.spec.groupPriorityMinimum, 18_000);
  });

  it('are there for custom versions that are served', () => {
    const version = (name: string, served: boolean) => ({ name, served, storage: served });
    const definition = {
      metadata: { name: 'b.a' },
      spec: {
        group: 'a',
        scope: 'Cluster',
        names: { kind: 'B', plural: 'b' },
        versions: [version('v1', true), version('v2', false)],
      },
    };
    assert.deepEqual(customService('v1.a', [definition])?.spec, {
      group: 'a',
      version: 'v1',
      groupPriorityMinimum: 1000,
      versionPriority: 100,
    });
    assert.equal(customService('v2.a', [definition]), undefined);
    assert.equal(customService('v1.c', [definition]), undefined);
  });
});
