/**
 * Objects of the right shape and otherwise arbitrary, for properties that every kind must have: made from the kind tables, so they
 * hold every field sooner or later, many of them wrong; and in canonical form, as all that a server decodes.
 */

import type { Draft, KubeObject } from '../apimachinery/meta.ts';
import { apiVersionOf, type ResourceType } from '../apimachinery/resource.ts';
import type { FieldSchema, ScalarType, TypeSchema } from '../apimachinery/schema.ts';
import { seededRandom } from '../base/random.ts';
import { builtinCodec, builtinSchema } from './schema.ts';

/** Texts that validators are likely to take apart. */
const words = [
  '', 'a', 'app', 'example.com/name', 'Bad_Name', '-x-', '*', '/', '/var/lib', '../up', '10.0.0.1', '10.0.0.0/24', 'fd00::1',
  'http', '80', '25%', '150%', '1', '500m', '1Gi', '-1', 'key=value', '$(HOME)', 'None', 'Always', 'In', 'Exists', 'Equal',
  'DoesNotExist', 'Gt', 'RollingUpdate', 'ClusterIP', 'Filesystem', 'cpu', 'memory', 'ephemeral-storage', 'hugepages-2Mi',
  'requests.cpu', 'kubernetes.io/hostname', '*/5 * * * *', '@daily', '0-3,5', 'metadata.name', "metadata.labels['a']",
  '__proto__', '\u00e4\ud83d\ude00', 'x'.repeat(300), '2024-01-01T00:00:00Z', 'True', 'TCP', 'IPv4', 'OnFailure', 'Terminating',
]; // biome-ignore format: a pool of words

/** `density` is the share of optional fields that are there. */
export function anyObject(type: ResourceType<KubeObject>, seed: number, density = 0.5): Draft<KubeObject> {
  const random = seededRandom(seed);
  const schema = builtinSchema();
  const kind = schema.document.resources.find(
    (row) => row.group === type.group && row.version === type.version && row.resource === type.resource,
  )!;
  /** Types that hold themselves would never end. */
  let left = 2000;
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)]!;

  function struct(shape: TypeSchema): unknown {
    if (shape.jsonList !== undefined) return [pick(words)];
    const value: Record<string, unknown> = {};
    for (const field of shape.fields) {
      if (left === 0 || random.next() > density) continue;
      left -= 1;
      value[field.name] = fieldValue(field);
    }
    return value;
  }

  function fieldValue(field: FieldSchema): unknown {
    const one = () => (field.ref ? struct(field.ref) : scalar(field.scalar!, field.enum));
    const many = Array.from({ length: Math.floor(random.next() * 3) });
    if (field.list) return many.map(one);
    if (field.map) return Object.fromEntries(many.map(() => [pick(words), one()]));
    return one();
  }

  function scalar(name: ScalarType, values: readonly string[] | undefined): unknown {
    switch (name) {
      case 'string':
        return values && random.next() < 0.8 ? pick(values) : pick(words);
      case 'int32':
      case 'int64':
        return pick([0, 1, 2, 5, 80, 443, 3600, -1, 70_000, 2_147_483_647]);
      case 'bool':
        return random.next() < 0.5;
      case 'float64':
        return pick([0, 0.5, -1]);
      case 'bytes':
        return pick(['', 'YQ==', 'LS0tLS1CRUdJTg==']);
      case 'quantity':
        return pick(['0', '1', '500m', '1Gi', '-1', '2']);
      case 'intOrString':
        return pick([0, 1, -1, 80, '25%', 'http', '150%', '']);
      case 'duration':
        return '1s';
      case 'time':
      case 'microTime':
        return pick(['2024-01-01T00:00:00Z', '2025-06-01T12:00:00Z']);
      default:
        return pick([{}, { a: 1 }, null, 'text', [1]]);
    }
  }

  const object = struct(schema.type(kind.type)) as Record<string, unknown>;
  const name = pick(['a', 'web', 'exempt', 'Bad_Name']);
  const metadata = { name, namespace: 'default', uid: 'u', creationTimestamp: '2024-01-01T00:00:00Z', generation: 1 };
  const whole = { ...object, kind: type.kind, apiVersion: apiVersionOf(type), metadata };
  return builtinCodec().copyByTable(whole, kind.type) as unknown as Draft<KubeObject>;
}
