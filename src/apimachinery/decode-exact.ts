/**
 * The slow, exact decoder: walks a JSON text key by key along the kind tables and says what is wrong with it in upstream's words
 * (those of Go's JSON decoder as Kubernetes patched it). It runs only when the fast decoder met something odd. Its result is plain
 * JSON that fits the table, without unknown fields; `decode.ts` then brings that into canonical form.
 *
 * As in Go: the first wrong type is reported and the rest of the text still read; a failing time, quantity or the like ends decoding
 * at once; null is as good as absent; of a repeated key the later value is laid over the earlier.
 */
import { jsonText } from './exact-json.ts';
import { quote } from './go-text.ts';
import { type JsonNode, JsonNumber, JsonObject, plainValue, setOwn } from './json-text.ts';
import { canonicalQuantity } from './quantity.ts';
import type { FieldSchema, SchemaRegistry, TypeSchema } from './schema.ts';
import { canonicalMicroTime, canonicalTime } from './time.ts';

/** A value does not have the type its field asks for. The message is Go's. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

export interface ExactResult {
  readonly value: Readonly<Record<string, unknown>>;
  /** `unknown field "spec.foo"`, `duplicate field "spec.bar"`; each once, at most a hundred. */
  readonly strictErrors: readonly string[];
}

/** Decodes a parsed text as the type; throws `DecodeError`. `path` is where in an object the text stands. */
export function decodeExact(registry: SchemaRegistry, node: JsonNode, typeId: string, path = ''): ExactResult {
  const walk = new ExactWalk(registry, path);
  const value = walk.root(node, registry.type(typeId));
  return { value, strictErrors: walk.strictErrors };
}

const mostStrictErrors = 100;

/** The duplicate keys in a text that no table describes (a custom resource), in order: `duplicate field "spec.bar"`. */
export function duplicateFields(node: JsonNode): string[] {
  const found = new Set<string>();
  const visit = (value: JsonNode, path: string): void => {
    if (Array.isArray(value)) for (const [index, item] of value.entries()) visit(item, `${path}[${index}]`);
    if (!(value instanceof JsonObject)) return;
    const seen = new Set<string>();
    for (const [key, entry] of value.entries) {
      const at = path === '' ? key : `${path}.${key}`;
      if (seen.has(key) && found.size < mostStrictErrors) found.add(`duplicate field ${quote(at)}`);
      seen.add(key);
      visit(entry, at);
    }
  };
  visit(node, '');
  return [...found];
}

type Value = Record<string, unknown>;

/** A field of a struct as Go sees it: with the names of the embedded structs on the way to it. */
interface Target {
  readonly field: FieldSchema;
  readonly embedded: readonly string[];
}

class ExactWalk {
  readonly strictErrors: string[] = [];
  readonly #registry: SchemaRegistry;
  readonly #targets = new Map<string, ReadonlyMap<string, Target>>();
  /** Names from the root to the field at hand, as error messages have them. */
  #fields: string[] = [];
  /** The struct that holds the field at hand. */
  #struct = '';
  /** The path of strict errors: with indices and map keys. */
  #path: string;
  #firstError: DecodeError | undefined;
  /** Inside a value that Go hands to another decoder, which reports neither unknown nor repeated keys. */
  #lenient = 0;

  constructor(registry: SchemaRegistry, path: string) {
    this.#registry = registry;
    this.#path = path;
  }

  root(node: JsonNode, type: TypeSchema): Value {
    const value = node === null ? {} : this.#structValue(node, type, {});
    if (this.#firstError) throw this.#firstError;
    return value ?? {};
  }

  #structValue(node: JsonNode, type: TypeSchema, into: Value): Value | undefined {
    if (!(node instanceof JsonObject)) return this.#mismatch(node, type.goName);
    const targets = this.#targetsOf(type);
    const { length } = this.#fields;
    const outer = { struct: this.#struct, path: this.#path };
    const seen = new Set<string>();
    for (const [key, entry] of node.entries) {
      const target = targets.get(key);
      if (!target) {
        this.#strict('unknown field', key);
        continue;
      }
      if (seen.has(key)) this.#strict('duplicate field', key);
      seen.add(key);
      this.#fields.push(...target.embedded, key);
      this.#struct = type.name;
      this.#path = outer.path === '' ? key : `${outer.path}.${key}`;
      this.#field(entry, target.field, into);
      this.#fields.length = length;
      this.#struct = outer.struct;
      this.#path = outer.path;
    }
    return into;
  }

  #field(node: JsonNode, field: FieldSchema, into: Value): void {
    const previous = into[field.name];
    if (node === null) {
      if (field.pointer || field.list || field.map || field.ref?.jsonList || field.scalar === 'bytes')
        delete into[field.name];
      return;
    }
    const value = this.#fieldValue(node, field, previous);
    if (value !== undefined) into[field.name] = value;
  }

  #fieldValue(node: JsonNode, field: FieldSchema, previous: unknown): unknown {
    if (field.map) {
      if (!(node instanceof JsonObject)) return this.#mismatch(node, goTypeOf(field));
      return this.#mapValue(node, field, (previous as Value | undefined) ?? {});
    }
    if (field.list) return this.#listValue(node, goTypeOf(field), (item) => this.#element(item, field, {}));
    return this.#element(node, field, (previous as Value | undefined) ?? {});
  }

  #mapValue(node: JsonObject, field: FieldSchema, into: Value): Value {
    const path = this.#path;
    const seen = new Set<string>();
    for (const [key, entry] of node.entries) {
      if (seen.has(key)) this.#strict('duplicate field', key);
      seen.add(key);
      this.#path = path === '' ? key : `${path}.${key}`;
      const value = entry === null ? zeroElement(field) : this.#element(entry, field, {});
      if (value !== undefined) setOwn(into, key, value);
      this.#path = path;
    }
    return into;
  }

  #listValue(node: JsonNode, goType: string, element: (item: JsonNode) => unknown): unknown {
    if (!Array.isArray(node)) return this.#mismatch(node, goType);
    const path = this.#path;
    const items: unknown[] = [];
    for (const [index, item] of node.entries()) {
      this.#path = `${path}[${index}]`;
      items.push(element(item));
      this.#path = path;
    }
    return items;
  }

  /** One value of the field's type: the field itself, or an element of its list or map. */
  #element(node: JsonNode, field: FieldSchema, into: Value): unknown {
    if (node === null) return zeroElement(field);
    const type = field.ref;
    if (!type) return this.#scalar(node, field);
    if (type.jsonList) {
      const goType = elementGoType(field);
      return this.#listValue(node, goType, (item) =>
        typeof item === 'string' ? item : item === null ? '' : this.#mismatch(item, 'string'),
      );
    }
    if (type.jsonOneOf) return this.#oneOf(node, type);
    return this.#structValue(node, type, into);
  }

  /** Types whose JSON is one of several shapes (`JSONSchemaPropsOrBool`); Go decodes them apart, so keys are not counted there. */
  #oneOf(node: JsonNode, type: TypeSchema): unknown {
    const members = type.jsonOneOf!.map((name) => type.byName.get(name)!);
    const bool = members.find((member) => member.scalar === 'bool');
    const member = Array.isArray(node)
      ? members.find((candidate) => candidate.list)
      : node instanceof JsonObject
        ? members.find((candidate) => candidate.ref && !candidate.list)
        : undefined;
    if (bool && typeof node === 'boolean') return node;
    if (!member) {
      if (bool) throw new DecodeError('boolean or JSON schema expected');
      return undefined;
    }
    this.#lenient++;
    const value = this.#fieldValue(node, member, undefined);
    this.#lenient--;
    return value;
  }

  #scalar(node: JsonNode & {}, field: FieldSchema): unknown {
    switch (field.scalar) {
      case 'string':
        return typeof node === 'string' ? node : this.#mismatch(node, elementGoType(field));
      case 'bool':
        return typeof node === 'boolean' ? node : this.#mismatch(node, 'bool');
      case 'int32':
      case 'int64':
        return node instanceof JsonNumber ? this.#integer(node, field.scalar) : this.#mismatch(node, field.scalar);
      case 'float64':
        return node instanceof JsonNumber ? this.#float(node) : this.#mismatch(node, 'float64');
      case 'bytes':
        return this.#bytes(node);
      case 'time':
        return fatal(() => canonicalTime(this.#text(node)));
      case 'microTime':
        return fatal(() => canonicalMicroTime(this.#text(node)));
      case 'duration':
        return this.#text(node);
      case 'quantity':
        return fatal(() => canonicalQuantity(quantityText(node)));
      case 'intOrString':
        return typeof node === 'string' ? node : this.#intOrString(node);
      default:
        return plainValue(node);
    }
  }

  #integer(node: JsonNumber, goType: 'int32' | 'int64'): unknown {
    const value = /^-?\d+$/.test(node.text) ? BigInt(node.text) : undefined;
    const bits = goType === 'int32' ? 32 : 64;
    if (value === undefined || BigInt.asIntN(bits, value) !== value)
      return this.#mismatch(node, goType, `number ${node.text}`);
    return Number(value);
  }

  #float(node: JsonNumber): unknown {
    const value = Number(node.text);
    return Number.isFinite(value) ? value : this.#mismatch(node, 'float64', `number ${node.text}`);
  }

  /** As in Go, line breaks inside base64 are skipped. */
  #bytes(node: JsonNode): unknown {
    if (typeof node !== 'string') return this.#mismatch(node, '[]uint8');
    const bad = base64Error(node);
    if (bad !== undefined) {
      this.#firstError ??= new DecodeError(`illegal base64 data at input byte ${bad}`);
      return undefined;
    }
    return Buffer.from(node, 'base64').toString('base64');
  }

  /** The string inside a type with a decoder of its own: a wrong type there ends decoding. */
  #text(node: JsonNode): string {
    if (typeof node === 'string') return node;
    throw this.#mismatchError(node, 'string');
  }

  #intOrString(node: JsonNode): unknown {
    if (!(node instanceof JsonNumber)) throw this.#mismatchError(node, 'int32');
    if (!/^-?\d+$/.test(node.text) || Math.abs(Number(node.text)) > 2 ** 31)
      throw this.#mismatchError(node, 'int32', `number ${node.text}`);
    return Number(node.text);
  }

  #mismatch(node: JsonNode, goType: string, what?: string): undefined {
    this.#firstError ??= this.#mismatchError(node, goType, what);
    return undefined;
  }

  #mismatchError(node: JsonNode, goType: string, what: string = wordFor(node)): DecodeError {
    const place =
      this.#struct === ''
        ? `Go value of type ${goType}`
        : `Go struct field ${this.#struct}.${this.#fields.join('.')} of type ${goType}`;
    return new DecodeError(`json: cannot unmarshal ${what} into ${place}`);
  }

  #strict(problem: string, key: string): void {
    if (this.#lenient > 0 || this.strictErrors.length >= mostStrictErrors) return;
    const text = `${problem} ${quote(this.#path === '' ? key : `${this.#path}.${key}`)}`;
    if (!this.strictErrors.includes(text)) this.strictErrors.push(text);
  }

  #targetsOf(type: TypeSchema): ReadonlyMap<string, Target> {
    const known = this.#targets.get(type.id);
    if (known) return known;
    const targets = new Map<string, Target>();
    for (const row of type.row.fields) {
      if (!row.inline) {
        targets.set(row.name, { field: type.byName.get(row.name)!, embedded: [] });
        continue;
      }
      const inner = this.#registry.type(row.type.slice('ref:'.length));
      for (const [name, { field, embedded }] of this.#targetsOf(inner))
        targets.set(name, { field, embedded: [inner.name, ...embedded] });
    }
    this.#targets.set(type.id, targets);
    return targets;
  }
}

/** What null is as an element of a list or map: Go's zero value. */
function zeroElement(field: FieldSchema): unknown {
  if (field.ref) return field.ref.jsonList ? [] : field.ref.jsonOneOf ? undefined : {};
  switch (field.scalar) {
    case 'bool':
      return false;
    case 'int32':
    case 'int64':
    case 'float64':
    case 'intOrString':
      return 0;
    case 'quantity':
      return '0';
    case 'time':
    case 'microTime':
    case 'rawExtension':
    case 'json':
      return null;
    default:
      return '';
  }
}

/** Runs a decoder of a single value, whose failure ends decoding as it stands. */
function fatal<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof DecodeError) throw error;
    throw new DecodeError((error as Error).message);
  }
}

/** Quantities may be written as numbers: their digits count, not their value. */
function quantityText(node: JsonNode): string {
  if (typeof node === 'string') return node;
  if (node instanceof JsonNumber) return node.text;
  return jsonText(plainValue(node));
}

/** Offset of the first byte that is not base64, counted as Go does; undefined when all is well. */
function base64Error(text: string): number | undefined {
  const significant = text.replace(/[\r\n]/g, '');
  const match = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?/.exec(significant)!;
  if (match[0].length === significant.length) return undefined;
  const odd = text.search(/[^A-Za-z0-9+/\r\n]/);
  if (odd < 0) return text.length - (significant.length % 4);
  return odd;
}

function wordFor(node: JsonNode): string {
  if (node instanceof JsonNumber) return 'number';
  if (node instanceof JsonObject) return 'object';
  if (Array.isArray(node)) return 'array';
  return typeof node === 'boolean' ? 'bool' : typeof node === 'string' ? 'string' : 'null';
}

/** The Go type of a field as its messages print it: `[]v1.Container`, `map[string]string`. */
function goTypeOf(field: FieldSchema): string {
  if (field.map) {
    if (field.keyNamed === 'core/v1.ResourceName' && field.scalar === 'quantity') return 'v1.ResourceList';
    return `map[${field.keyNamed ? goName(field.keyNamed) : 'string'}]${elementGoType(field)}`;
  }
  return field.list ? `[]${elementGoType(field)}` : elementGoType(field);
}

function elementGoType(field: FieldSchema): string {
  if (field.ref) return field.ref.goName;
  if (field.named) return goName(field.named);
  const names: Readonly<Record<string, string>> = {
    bytes: '[]uint8',
    quantity: 'resource.Quantity',
    intOrString: 'intstr.IntOrString',
    time: 'v1.Time',
    microTime: 'v1.MicroTime',
    duration: 'v1.Duration',
    rawExtension: 'runtime.RawExtension',
    json: 'v1.JSON',
  };
  return names[field.type] ?? field.type;
}

/** `core/v1.PodPhase` is `v1.PodPhase` in Go's messages. */
function goName(id: string): string {
  return id.slice(id.indexOf('/') + 1);
}
