import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CustomResourceDefinition } from '../../api/gen/apiextensions-v1.ts';
import { nextStatus } from './definition-status.ts';

const nowMs = Date.parse('2026-01-01T00:00:00Z');

function definition(plural: string, other: Partial<CustomResourceDefinition> = {}): CustomResourceDefinition {
  const kind = plural.charAt(0).toUpperCase() + plural.slice(1, -1);
  return {
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { plural, singular: plural.slice(0, -1), kind, listKind: `${kind}List` },
      versions: [{ name: 'v1', served: true, storage: true }],
    },
    ...other,
  };
}

const conditions = ({ status }: CustomResourceDefinition) =>
  status?.conditions?.map(({ type, status: value, reason, message }) => [type, value, reason, message]);

/** Status after status, until there is nothing more to say. */
function settled(
  first: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[] = [],
): CustomResourceDefinition[] {
  const states = [first];
  for (;;) {
    const last = states.at(-1)!;
    const status = nextStatus(last, () => others, nowMs);
    if (!status) return states.slice(1);
    assert.ok(states.length < 5, 'the status does not settle');
    states.push({ ...last, status });
  }
}

describe('the status of a definition', () => {
  it('accepts free names first and establishes the definition then', () => {
    const [named, established, ...more] = settled(definition('gadgets'));
    assert.deepEqual(more, []);
    assert.deepEqual(named?.status?.acceptedNames, named?.spec.names);
    assert.deepEqual(conditions(named!), [
      ['NamesAccepted', 'True', 'NoConflicts', 'no conflicts found'],
      ['Established', 'False', 'Installing', 'the initial names have been accepted'],
    ]);
    assert.deepEqual(conditions(established!)?.[1], [
      'Established',
      'True',
      'InitialNamesAccepted',
      'the initial names have been accepted',
    ]);
  });

  it('says which name another definition of the group has already, and takes the others', () => {
    const other = settled(definition('gadgets', { metadata: { name: 'other' } })).at(-1)!;
    const late = definition('things');
    const names = { ...late.spec.names, kind: 'Gadget', shortNames: ['gadget', 'th'] };
    const [refused, ...more] = settled({ ...late, spec: { ...late.spec, names } }, [other]);
    assert.deepEqual(more, []);
    assert.deepEqual(conditions(refused!), [
      ['NamesAccepted', 'False', 'KindConflict', '"Gadget" is already in use'],
      ['Established', 'False', 'NotAccepted', 'not all names are accepted'],
    ]);
    assert.deepEqual(refused?.status?.acceptedNames, {
      plural: 'things',
      singular: 'thing',
      kind: '',
      listKind: 'ThingList',
    });
  });

  it('keeps a definition established when it asks for a name that is taken', () => {
    const other = settled(definition('gadgets', { metadata: { name: 'other' } })).at(-1)!;
    const mine = settled(definition('things')).at(-1)!;
    const names = { ...mine.spec.names, shortNames: ['gadget'] };
    const [refused] = settled({ ...mine, spec: { ...mine.spec, names } }, [other]);
    assert.deepEqual(conditions(refused!), [
      ['NamesAccepted', 'False', 'ShortNamesConflict', '"gadget" is already in use'],
      ['Established', 'True', 'InitialNamesAccepted', 'the initial names have been accepted'],
    ]);
  });

  it('does not establish a definition whose webhook cannot be trusted', () => {
    const caBundle = Buffer.from('nothing').toString('base64');
    const webhook = { clientConfig: { url: 'https://a', caBundle }, conversionReviewVersions: ['v1'] };
    const { spec, metadata } = definition('gadgets');
    const last = settled({ metadata, spec: { ...spec, conversion: { strategy: 'Webhook', webhook } } }).at(-1)!;
    const message = 'The conversion webhook CABundle is invalid';
    assert.deepEqual(conditions(last)?.[1], ['Established', 'False', 'InvalidCABundle', message]);
  });

  const approvals = [
    { annotation: undefined, expected: ['False', 'MissingAnnotation'] },
    { annotation: 'unapproved, a trial', expected: ['False', 'UnapprovedAnnotation'] },
    { annotation: 'https://github.com/kubernetes/kubernetes/pull/1', expected: ['True', 'ApprovedAnnotation'] },
    { annotation: 'yes', expected: ['False', 'InvalidAnnotation'] },
  ] as const;
  for (const { annotation, expected } of approvals) {
    it(`tells of a protected group with the annotation ${annotation} that it is ${expected[1]}`, () => {
      const { spec, metadata } = definition('gadgets');
      const annotations = annotation === undefined ? {} : { 'api-approved.kubernetes.io': annotation };
      const states = settled({ metadata: { ...metadata, annotations }, spec: { ...spec, group: 'stable.k8s.io' } });
      const found = states.at(-1)?.status?.conditions?.find(({ type }) => type.startsWith('KubernetesAPIApproval'));
      assert.deepEqual([found?.status, found?.reason], expected);
    });
  }
});
