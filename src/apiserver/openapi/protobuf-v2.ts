/**
 * The OpenAPI 2.0 document in protobuf, as gnostic's `openapi.v2.Document` lays it out: kubectl asks for it because JSON takes it
 * longer to read. Field numbers are those of gnostic's OpenAPIv2.proto. Free-form values (defaults, enums, extensions) travel as YAML
 * text, for which JSON will do.
 */
import { WireWriter, wireTypes } from '../../base/protobuf/wire-writer.ts';
import type { Json } from './schemas.ts';

export function encodeOpenApiV2(document: Json): Buffer {
  const writer = new WireWriter();
  documentMessage(document).write(writer);
  return writer.finish();
}

/** The fields of one message, to be written from the last to the first, as the writer wants it. */
class Message {
  readonly #fields: ((writer: WireWriter) => void)[] = [];

  text(field: number, value: unknown): this {
    return typeof value === 'string' && value !== '' ? this.#text(field, value) : this;
  }

  texts(field: number, values: unknown): this {
    for (const value of (values as readonly string[] | undefined) ?? []) this.#text(field, value);
    return this;
  }

  flag(field: number, value: unknown): this {
    return value === true ? this.#add(field, wireTypes.varint, (writer) => writer.varint(1)) : this;
  }

  integer(field: number, value: unknown): this {
    if (typeof value !== 'number' || value === 0) return this;
    return this.#add(field, wireTypes.varint, (writer) => writer.integer(value));
  }

  double(field: number, value: unknown): this {
    if (typeof value !== 'number' || value === 0) return this;
    return this.#add(field, wireTypes.fixed64, (writer) => writer.double(value));
  }

  message(field: number, message: Message | undefined): this {
    if (!message) return this;
    return this.#add(field, wireTypes.bytes, (writer) => {
      const before = writer.written;
      message.write(writer);
      writer.varint(writer.written - before);
    });
  }

  messages<T>(field: number, values: readonly T[], encode: (value: T) => Message): this {
    for (const value of values) this.message(field, encode(value));
    return this;
  }

  write(writer: WireWriter): void {
    for (let i = this.#fields.length - 1; i >= 0; i--) this.#fields[i]!(writer);
  }

  #text(field: number, value: string): this {
    return this.#add(field, wireTypes.bytes, (writer) => writer.text(value));
  }

  #add(field: number, wireType: number, write: (writer: WireWriter) => void): this {
    this.#fields.push((writer) => {
      write(writer);
      writer.varint(field * 8 + wireType);
    });
    return this;
  }
}

/** `additionalProperties` of a Named... message: pairs of name and value. */
function named(values: unknown, encode: (value: Json) => Message): Message | undefined {
  if (values === undefined) return undefined;
  return new Message().messages(1, Object.entries(values as Json), (entry) => pair(entry, encode));
}

function pair([name, value]: readonly [string, unknown], encode: (value: Json) => Message): Message {
  return new Message().text(1, name).message(2, encode(value as Json));
}

function any(value: unknown): Message {
  return new Message().text(2, `${JSON.stringify(value)}\n`);
}

function extensions(message: Message, field: number, source: Json): Message {
  const entries = Object.entries(source).filter(([name]) => name.startsWith('x-'));
  return message.messages(field, entries, ([name, value]) => new Message().text(1, name).message(2, any(value)));
}

function documentMessage(source: Json): Message {
  const message = new Message()
    .text(1, source.swagger)
    .message(2, info(source.info as Json))
    .message(8, paths(source.paths as Json))
    .message(9, named(source.definitions, schema))
    .message(10, named(source.parameters, parameter))
    .messages(12, (source.security ?? []) as readonly Json[], (requirement) => named(requirement, stringArray)!)
    .message(13, named(source.securityDefinitions, security));
  return extensions(message, 16, source);
}

function info(source: Json): Message {
  return new Message().text(1, source.title).text(2, source.version);
}

function stringArray(values: unknown): Message {
  return new Message().texts(1, values);
}

/** Only API keys are in use. */
function security(source: Json): Message {
  const apiKey = new Message().text(1, source.type).text(2, source.name).text(3, source.in).text(4, source.description);
  return new Message().message(2, apiKey);
}

function paths(source: Json): Message {
  return new Message().messages(2, Object.entries(source), (entry) => pair(entry, pathItem));
}

const methodFields: Readonly<Record<string, number>> = {
  get: 2,
  put: 3,
  post: 4,
  delete: 5,
  options: 6,
  head: 7,
  patch: 8,
};

function pathItem(source: Json): Message {
  const message = new Message();
  for (const [method, field] of Object.entries(methodFields)) {
    if (source[method] !== undefined) message.message(field, operation(source[method] as Json));
  }
  message.messages(9, (source.parameters ?? []) as readonly Json[], parametersItem);
  return extensions(message, 10, source);
}

function operation(source: Json): Message {
  const responses = Object.entries(source.responses as Json);
  const message = new Message()
    .texts(1, source.tags)
    .text(3, source.description)
    .text(5, source.operationId)
    .texts(6, source.produces)
    .texts(7, source.consumes)
    .messages(8, (source.parameters ?? []) as readonly Json[], parametersItem)
    .message(
      9,
      new Message().messages(1, responses, (entry) =>
        pair(entry, (value) => new Message().message(1, response(value))),
      ),
    )
    .texts(10, source.schemes);
  return extensions(message, 13, source);
}

function response(source: Json): Message {
  const body = source.schema === undefined ? undefined : new Message().message(1, schema(source.schema as Json));
  return new Message().text(1, source.description).message(2, body);
}

function parametersItem(source: Json): Message {
  if (source.$ref !== undefined) return new Message().message(2, new Message().text(1, source.$ref));
  return new Message().message(1, parameter(source));
}

function parameter(source: Json): Message {
  if (source.in === 'body') {
    const body = new Message()
      .text(1, source.description)
      .text(2, source.name)
      .text(3, source.in)
      .flag(4, source.required)
      .message(5, schema(source.schema as Json));
    return new Message().message(1, body);
  }
  const isPath = source.in === 'path';
  const value = new Message()
    .flag(1, source.required)
    .text(2, source.in)
    .text(3, source.description)
    .text(4, source.name)
    .text(isPath ? 5 : 6, source.type)
    .flag(isPath ? 19 : 20, source.uniqueItems);
  return new Message().message(2, new Message().message(isPath ? 4 : 3, value));
}

function schema(source: Json): Message {
  const { type, items, additionalProperties, properties } = source;
  const message = new Message()
    .text(1, source.$ref)
    .text(2, source.format)
    .text(3, source.title)
    .text(4, source.description)
    .message(5, source.default === undefined ? undefined : any(source.default))
    .double(6, source.multipleOf)
    .double(7, source.maximum)
    .flag(8, source.exclusiveMaximum)
    .double(9, source.minimum)
    .flag(10, source.exclusiveMinimum)
    .integer(11, source.maxLength)
    .integer(12, source.minLength)
    .text(13, source.pattern)
    .integer(14, source.maxItems)
    .integer(15, source.minItems)
    .flag(16, source.uniqueItems)
    .integer(17, source.maxProperties)
    .integer(18, source.minProperties)
    .texts(19, source.required)
    .messages(20, (source.enum ?? []) as readonly unknown[], any)
    .message(21, additionalProperties === undefined ? undefined : additional(additionalProperties))
    .message(22, type === undefined ? undefined : new Message().texts(1, Array.isArray(type) ? type : [type]))
    .message(23, items === undefined ? undefined : new Message().message(1, schema(items as Json)))
    .messages(24, (source.allOf ?? []) as readonly Json[], schema)
    .message(25, named(properties, schema));
  return extensions(message, 31, source);
}

function additional(value: unknown): Message {
  return typeof value === 'boolean' ? new Message().flag(2, value) : new Message().message(1, schema(value as Json));
}
