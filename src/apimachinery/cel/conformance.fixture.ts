/**
 * Runs the language's published conformance cases (`@bufbuild/cel-spec`) against an environment: each expression's type, value or
 * failure. Cases are named `file/section/case`.
 */
import assert from 'node:assert/strict';
import { convertToDuration, convertToTimestamp } from './conversions.ts';
import {
  ArrayList,
  boolType,
  bytesType,
  type CelType,
  CelUint,
  type CelValue,
  doubleType,
  durationType,
  dynType,
  Environment,
  intType,
  isCelError,
  type Library,
  listOf,
  mapOf,
  CelType as NamedType,
  noSuchOverload,
  nullType,
  opaqueType,
  stringType,
  timestampType,
  typeOf,
  typeParameter,
  uintType,
} from './index.ts';
import { LiteralMap } from './literal-values.ts';
import { equal } from './operators.ts';

type Json = Readonly<Record<string, unknown>>;

interface Declaration {
  readonly name: string;
  readonly ident?: { readonly type: Json };
  readonly function?: { readonly overloads: readonly Json[] };
}

export interface ConformanceCase {
  readonly name: string;
  readonly expression: string;
  readonly original: {
    readonly value?: Json;
    readonly typeEnv?: readonly Declaration[];
    readonly bindings?: Readonly<Record<string, { readonly value: Json }>>;
    readonly evalError?: unknown;
    readonly checkOnly?: boolean;
    readonly typedResult?: { readonly deducedType?: Json; readonly result?: Json };
  };
}

interface Suite {
  readonly name: string;
  readonly suites?: readonly Suite[];
  readonly tests?: readonly { readonly original: Json }[];
}

export function casesOf(suite: Suite, path: readonly string[] = []): readonly ConformanceCase[] {
  const own = (suite.tests ?? []).map(({ original }) => ({
    name: [...path, original.name].join('/'),
    expression: original.expr as string,
    original: original as ConformanceCase['original'],
  }));
  return [...(suite.suites ?? []).flatMap((inner) => casesOf(inner, [...path, inner.name])), ...own];
}

/** Messages of protocol buffers, which Kubernetes' expressions never meet. */
const messages = /TestAllTypes|google\.protobuf\.(?!Timestamp|Duration)|cel\.expr\.conformance/;
export const needsMessages = ({ expression, original }: ConformanceCase): boolean =>
  messages.test(expression) ||
  /messageType|wrapper"|objectValue":\{"@type":"[^"]*(?<!Timestamp|Duration)"/.test(JSON.stringify(original));

const primitives: Readonly<Record<string, CelType>> = {
  INT64: intType,
  UINT64: uintType,
  DOUBLE: doubleType,
  STRING: stringType,
  BYTES: bytesType,
  BOOL: boolType,
  TIMESTAMP: timestampType,
  DURATION: durationType,
};

function typeFrom(json: Json): CelType {
  const [[kind, details]] = Object.entries(json) as [[string, unknown]];
  const inner = details as Json;
  switch (kind) {
    case 'primitive':
    case 'wellKnown':
      return primitives[details as string]!;
    case 'null':
      return nullType;
    case 'dyn':
      return dynType;
    case 'listType':
      return listOf(typeFrom((inner.elemType as Json) ?? { dyn: {} }));
    case 'mapType':
      return mapOf(typeFrom(inner.keyType as Json), typeFrom(inner.valueType as Json));
    case 'type':
      return typeOf(typeFrom(inner));
    case 'typeParam':
      return typeParameter(details as string);
    case 'abstractType': {
      const parameters = ((inner.parameterTypes as readonly Json[]) ?? []).map(typeFrom);
      return opaqueType(inner.name as string, { parameters });
    }
    default:
      throw new Error(`no such type here: ${JSON.stringify(json)}`);
  }
}

function valueFrom(json: Json): CelValue {
  const [[kind, value]] = Object.entries(json) as [[string, unknown]];
  switch (kind) {
    case 'int64Value':
      return BigInt(value as string);
    case 'uint64Value':
      return new CelUint(BigInt(value as string));
    case 'doubleValue':
      return Number(value);
    case 'bytesValue':
      return new Uint8Array(Buffer.from(value as string, 'base64'));
    case 'listValue':
      return new ArrayList((((value as Json).values as readonly Json[]) ?? []).map(valueFrom));
    case 'mapValue': {
      const map = new LiteralMap();
      const entries = ((value as Json).entries as readonly { key: Json; value: Json }[]) ?? [];
      for (const entry of entries) map.set(valueFrom(entry.key), valueFrom(entry.value));
      return map;
    }
    case 'typeValue':
      return new NamedType('dyn', value as string);
    case 'objectValue': {
      const { '@type': type, value: text } = value as { '@type': string; value: string };
      const convert = type.endsWith('Timestamp') ? convertToTimestamp : convertToDuration;
      return convert(text) as CelValue;
    }
    default:
      return value as CelValue;
  }
}

function libraryOf(declarations: readonly Declaration[]): Library {
  const functions = declarations.flatMap(({ name, function: declared }) => {
    if (!declared) return [];
    const overloads = declared.overloads.map((overload) => ({
      id: overload.overloadId as string,
      parameters: (overload.params as readonly Json[]).map(typeFrom),
      result: typeFrom(overload.resultType as Json),
      call: noSuchOverload,
    }));
    return [{ name, overloads }];
  });
  return { functions };
}

/** Fails where the case's outcome is another than it asks for. */
export function runCase({ expression, original }: ConformanceCase, libraries: readonly Library[] = []): void {
  const { typeEnv = [], bindings = {}, evalError, checkOnly, typedResult } = original;
  const declared = typeEnv.flatMap(({ name, ident }) => (ident ? [[name, typeFrom(ident.type)] as const] : []));
  const undeclared = Object.keys(bindings).map((name) => [name, dynType] as const);
  const variables = Object.fromEntries([...undeclared, ...declared]);
  const environment = Environment.standard({ variables, libraries: [...libraries, libraryOf(typeEnv)] });
  const compiled = environment.compile(expression);
  if (!compiled.program) {
    assert.ok(evalError, compiled.text);
    return;
  }
  const { deducedType } = typedResult ?? {};
  if (deducedType) assert.equal(String(compiled.program.resultType), String(typeFrom(deducedType)));
  if (checkOnly) return;
  const values = Object.entries(bindings).map(([name, { value }]) => [name, valueFrom(value)] as const);
  const { value } = compiled.program.evaluate(Object.fromEntries(values));
  if (evalError) {
    assert.ok(isCelError(value), 'evaluating should fail');
    return;
  }
  assert.ok(!isCelError(value), isCelError(value) ? value.message : '');
  const wanted = valueFrom(original.value ?? typedResult?.result ?? { boolValue: true });
  assert.equal(typeof value, typeof wanted);
  if (Number.isNaN(wanted)) assert.ok(Number.isNaN(value));
  else assert.equal(equal(value, wanted), true, `${String(value)}, not ${String(wanted)}`);
}
