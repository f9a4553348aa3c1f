// Converts our schemas to JSON Schema, and plain JSON and query strings to their input. Dates are ISO strings.
import { z } from 'zod';

export interface JsonSchema {
  readonly [keyword: string]: unknown;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly description?: string;
}

/** Tells a string that becomes a Date from one that stays a string. Left out of what is published. */
const dateMark = 'x-date';

export function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...document } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type !== 'date') return;
      Object.assign(jsonSchema, { type: 'string', format: 'date-time', [dateMark]: true });
    },
  });
  return document as JsonSchema;
}

export function published(schema: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key === dateMark ? undefined : value)));
}

/**
 * Converts a JSON body to the procedure's input. A value that does not fit stays as it is, and the procedure's schema
 * rejects it.
 */
export function fromJson(schema: JsonSchema, value: unknown): unknown {
  if (typeof value === 'string') return isDate(schema) ? toDate(value) : value;
  if (Array.isArray(value)) {
    const items = find(schema, ({ items }) => items);
    return items === undefined ? value : value.map((item) => fromJson(items, item));
  }
  if (typeof value !== 'object' || value === null) return value;
  const properties = find(schema, (part) => part.properties) ?? {};
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => {
      const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
      return [name, known === undefined ? field : fromJson(known, field)];
    }),
  );
}

/** Converts a query string to the procedure's input: text becomes a number or a boolean where the schema has one. */
export function fromQuery(schema: JsonSchema, query: URLSearchParams): Record<string, unknown> {
  const properties = schema.properties ?? {};
  const input: Record<string, unknown> = {};
  for (const name of new Set(query.keys())) {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const text = query.get(name) ?? '';
    input[name] = known === undefined ? text : fromText(known, text);
  }
  return input;
}

/** True if a query field is written as plain text; a structured field is written as JSON. */
export function isPlain(schema: JsonSchema): boolean {
  return typesOf(schema).every((type) => type !== 'object' && type !== 'array');
}

function fromText(schema: JsonSchema, text: string): unknown {
  if (!isPlain(schema)) return fromJson(schema, parseOrKeep(text));
  const types = typesOf(schema);
  if (types.includes('string')) return isDate(schema) ? toDate(text) : text;
  if ((types.includes('number') || types.includes('integer')) && text.trim() !== '') return Number(text);
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

function parseOrKeep(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The procedure's schema refuses it with the field's name.
    return text;
  }
}

function typesOf(schema: JsonSchema): string[] {
  const own = schema.type === undefined ? [] : [schema.type].flat();
  const ofValues = (schema.enum ?? []).map((value) => typeof value);
  return [...own, ...ofValues, ...(schema.anyOf ?? []).flatMap(typesOf)];
}

function isDate(schema: JsonSchema): boolean {
  return schema[dateMark] === true || (schema.anyOf ?? []).some(isDate);
}

function toDate(text: string): unknown {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : date;
}

function find<Part>(schema: JsonSchema, part: (schema: JsonSchema) => Part | undefined): Part | undefined {
  const own = part(schema);
  if (own !== undefined) return own;
  for (const choice of schema.anyOf ?? []) {
    const found = find(choice, part);
    if (found !== undefined) return found;
  }
  return undefined;
}
