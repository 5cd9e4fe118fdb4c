import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorText } from '../apimachinery/field-error.ts';
import { type Draft, draft, type KubeObject } from '../apimachinery/meta.ts';
import { apiVersionOf, groupResource } from '../apimachinery/resource.ts';
import fc from '../testing/properties.fixture.ts';
import { anyObject } from './any-object.fixture.ts';
import { behaviourOf, knownBehaviours } from './behaviours.ts';
import type { KindBehaviour, StrategyContext } from './kind.ts';
import { builtinCodec, builtinResources, builtinSchema } from './schema.ts';

const nowMs = Date.parse('2026-01-01T00:00:00Z');
const context: StrategyContext = {
  now: '2026-01-01T00:00:00Z',
  user: { name: 'jane', groups: ['system:authenticated'] },
  warn: () => {},
};

/** Objects with few fields and with nearly all. */
function forAnyObject(
  behaviour: KindBehaviour,
  check: (object: Draft<KubeObject>, makeOther: () => Draft<KubeObject>) => void,
) {
  const density = fc.constantFrom(0, 0.2, 0.5, 0.95);
  fc.assert(
    fc.property(fc.integer(), fc.integer(), density, (seed, otherSeed, share) => {
      const make = (chance: number) => anyObject(behaviour.resource, chance, share);
      check(make(seed), () => make(otherSeed));
    }),
    { numRuns: 40 },
  );
}

function defaulted(behaviour: KindBehaviour, object: Draft<KubeObject>): Draft<KubeObject> {
  behaviour.defaults?.(object);
  return object;
}

/** As it is stored: an empty status is the same as none. */
function canonical({ resource }: KindBehaviour, object: KubeObject): string {
  return builtinCodec().encodeAs(object, builtinSchema().typeOf(apiVersionOf(resource), resource.kind)!.id);
}

describe('the registry of behaviours', () => {
  it('finds a behaviour by group and resource, whatever the version', () => {
    assert.equal(behaviourOf({ group: 'apps', resource: 'deployments' }).resource.kind, 'Deployment');
    assert.equal(
      behaviourOf({ group: 'resource.k8s.io', resource: 'devicetaintrules' }).resource.kind,
      'DeviceTaintRule',
    );
  });

  it('gives a kind that it does not know no rules', () => {
    const unknown = { group: 'example.com', resource: 'widgets' };
    assert.deepEqual(behaviourOf(unknown), { resource: unknown });
  });

  it('knows every kind that is stored', () => {
    const known = new Set(knownBehaviours().map(({ resource }) => groupResource(resource)));
    const stored = builtinResources().filter((row) => row.storageVersion && row.verbs.includes('list'));
    const missing = [...new Set(stored.map(groupResource))].filter((name) => !known.has(name));
    // Stored as core/v1 Events, whose behaviour serves both.
    assert.deepEqual(missing, ['events.events.k8s.io']);
  });
});

for (const behaviour of knownBehaviours()) {
  describe(`any ${behaviour.resource.kind}`, () => {
    it('is defaulted once and for all', () => {
      forAnyObject(behaviour, (object) => {
        const once = structuredClone(defaulted(behaviour, object));
        assert.deepEqual(defaulted(behaviour, object), once);
      });
    });

    it('keeps what its author set when it is defaulted', () => {
      forAnyObject(behaviour, (object) => {
        const written = structuredClone(object);
        assertKept(defaulted(behaviour, object), written, behaviour.resource.kind);
      });
    });

    it('is validated without a failure of the validator', () => {
      forAnyObject(behaviour, (object, makeOther) => {
        const [next, stored] = [defaulted(behaviour, object), defaulted(behaviour, makeOther())];
        const errors = [
          ...(behaviour.validate?.(next) ?? []),
          ...(behaviour.validateUpdate?.(next, stored) ?? []),
          ...Object.values(behaviour.subresources ?? {}).flatMap((part) => part.validateUpdate?.(next, stored) ?? []),
        ];
        for (const error of errors) assert.ok(errorText(error).length > 0);
        if (behaviour.validateName) assert.ok(Array.isArray(behaviour.validateName('x', false)));
      });
    });

    it('passes its own update when nothing changes', () => {
      forAnyObject(behaviour, (object) => {
        const stored = defaulted(behaviour, object);
        if (!behaviour.validateUpdate || (behaviour.validate?.(stored) ?? []).length > 0) return;
        // Creation does not look at every status.
        const errors = behaviour.validateUpdate(structuredClone(stored), stored).map(errorText);
        assert.deepEqual(
          errors.filter((error) => !error.startsWith('status.')),
          [],
        );
      });
    });

    it('is created with all its defaults, those of a status that was taken off too', () => {
      forAnyObject(behaviour, (object) => {
        const made = defaulted(behaviour, object) as Draft<KubeObject> & { status?: unknown };
        if (behaviour.resource.subresources.includes('status') && behaviour.statusOnCreate !== 'kept')
          delete made.status;
        behaviour.prepareForCreate?.(made, context);
        const text = canonical(behaviour, made);
        assert.equal(canonical(behaviour, defaulted(behaviour, draft(made) as Draft<KubeObject>)), text);
      });
    });

    it('goes through its strategy without a failure', () => {
      forAnyObject(behaviour, (object, makeOther) => {
        const [next, stored] = [defaulted(behaviour, object), defaulted(behaviour, makeOther())];
        behaviour.prepareForCreate?.(draft(structuredClone(next)), context);
        behaviour.prepareForUpdate?.(draft(structuredClone(next)), stored, context);
        for (const part of Object.values(behaviour.subresources ?? {})) {
          part.prepareForUpdate?.(draft(structuredClone(next)), stored, context);
        }
        behaviour.gracePeriodSeconds?.(next, undefined);
      });
    });

    it('fits into the columns of its table', () => {
      forAnyObject(behaviour, (object, makeOther) => {
        const row = defaulted(behaviour, object);
        for (const column of behaviour.columns ?? []) {
          const cell = column.cell(row, nowMs);
          assert.ok(['string', 'number', 'boolean'].includes(typeof cell), `${column.name}: ${typeof cell} ${cell}`);
        }
        behaviour.rowConditions?.(row);
        behaviour.compareRows?.(row, defaulted(behaviour, makeOther()));
      });
    });
  });
}

/** What defaulting may change: fields that repeat another one, and some whose contents follow from elsewhere. */
const changeable = new Set([
  'data',
  'hostIPs',
  'podCIDRs',
  'podIPs',
  'serviceAccount',
  'sessionAffinityConfig',
  'stringData',
  'terminationGracePeriodSeconds',
  'volumeClaimTemplates',
]);

/** Nothing that was written is changed; `''`, `0`, `false` and empty collections count as not written. */
function assertKept(object: unknown, written: unknown, at: string): void {
  if (written === null || typeof written !== 'object') {
    if (!written || object === written) return;
    assert.fail(`${at}: ${JSON.stringify(written)} became ${JSON.stringify(object)}`);
  }
  for (const [key, value] of Object.entries(written)) {
    if (value === undefined || changeable.has(key)) continue;
    assertKept((object as Record<string, unknown> | undefined)?.[key], value, `${at}.${key}`);
  }
}
