// Converts the OpenAPI document for the reference page: one entry for each call, fields as flat rows. Pure; knows no
// React.
import type { ApiDocument, ApiOperation } from '@fairlead/api';

export interface FieldRow {
  /** Name with its parents, for example items[].name. */
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
}

export interface CallEntry {
  readonly id: string;
  readonly feature: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly summary: string;
  readonly permission: string;
  readonly input: readonly FieldRow[];
  readonly output: readonly FieldRow[];
  readonly example: string;
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

const DEPTH_MAX = 4;

export function entriesOf(document: ApiDocument): CallEntry[] {
  const base = document.servers[0]?.url ?? '';
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    (['get', 'post'] as const).flatMap((method) => {
      const operation = methods[method];
      return operation === undefined ? [] : [entryOf(`${base}${path}`, method === 'get' ? 'GET' : 'POST', operation)];
    }),
  );
}

function entryOf(path: string, method: CallEntry['method'], operation: ApiOperation): CallEntry {
  const input = inputRows(operation);
  const answer = operation.responses['200']?.content as
    | { readonly 'application/json'?: { readonly schema?: Schema } }
    | undefined;
  return {
    id: operation.operationId,
    feature: operation.tags[0] ?? '',
    method,
    path,
    summary: operation.summary,
    permission: operation['x-permission'],
    input,
    output: rowsOf(answer?.['application/json']?.schema ?? {}),
    example: exampleOf(path, method, input),
  };
}

function inputRows(operation: ApiOperation): FieldRow[] {
  const body = operation.requestBody?.content['application/json'].schema;
  if (body !== undefined) return rowsOf(body as Schema);
  return (operation.parameters ?? []).map(({ name, required, schema, content }) => ({
    name,
    type: typeOf((schema ?? content?.['application/json'].schema ?? {}) as Schema),
    required,
  }));
}

export function rowsOf(schema: Schema, prefix = '', depth = 0): FieldRow[] {
  if (depth > DEPTH_MAX) return [];
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const row = { name: `${prefix}${name}`, type: typeOf(field), required: required.has(name) };
    const inner = innerOf(field).map((each) => rowsOf(each.schema, `${row.name}${each.join}`, depth + 1));
    return [row, ...mergeRows(inner)];
  });
}

/** Returns the object schemas inside a field: an object or a list of objects, also if nullable, or one of several objects. */
function innerOf(field: Schema): readonly { readonly schema: Schema; readonly join: string }[] {
  if (field.properties !== undefined) return [{ schema: field, join: '.' }];
  if (field.items?.properties !== undefined) return [{ schema: field.items, join: '[].' }];
  return (field.anyOf ?? field.oneOf ?? []).flatMap(innerOf);
}

/** Merges the fields of alternative objects. A field is required if all of them require it. */
function mergeRows(alternatives: readonly (readonly FieldRow[])[]): FieldRow[] {
  const merged = new Map<string, FieldRow[]>();
  for (const row of alternatives.flat()) merged.set(row.name, [...(merged.get(row.name) ?? []), row]);
  return [...merged].map(([name, rows]) => ({
    name,
    type: [...new Set(rows.map(({ type }) => type))].join(' or '),
    required: rows.length === alternatives.length && rows.every(({ required }) => required),
  }));
}

export function typeOf(schema: Schema): string {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return [...new Set(choices.map(typeOf))].join(' or ');
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}`;
  if (schema.format === 'date-time') return 'date and time';
  const type = [schema.type ?? 'any'].flat().join(' or ');
  return type === 'integer' ? 'whole number' : type;
}

function exampleOf(path: string, method: CallEntry['method'], input: readonly FieldRow[]): string {
  const needed = input.filter(({ name, required }) => required && !/[.[]/.test(name));
  const authorization = `-H "Authorization: Bearer $FAIRLEAD_TOKEN"`;
  if (method === 'GET') {
    const query = needed.map(({ name }) => `${name}=…`).join('&');
    return `curl ${authorization} "$FAIRLEAD_URL${path}${query === '' ? '' : `?${query}`}"`;
  }
  const body = `{${needed.map(({ name, type }) => `"${name}": ${type === 'string' ? '"…"' : '…'}`).join(', ')}}`;
  return `curl ${authorization} -H "Content-Type: application/json" -d '${body}' "$FAIRLEAD_URL${path}"`;
}

/** Returns the entries in which every word of the search occurs. */
export function matching(entries: readonly CallEntry[], search: string): CallEntry[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return entries.filter((entry) => {
    const fields = [...entry.input, ...entry.output].map(({ name }) => name).join(' ');
    const text = `${entry.path} ${entry.summary} ${entry.permission} ${entry.method} ${fields}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
