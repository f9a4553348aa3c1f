// OpenAPI 3.1 document of the HTTP API, from the same schemas that check its calls.
import { errorCodes, errorTable } from '@fairlead/contract/errors';
import { isPlain, type JsonSchema, published } from './json-schema.ts';
import { type Operation, operations } from './operations.ts';

export interface ApiDocument {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<'get' | 'post', ApiOperation | undefined>>>>;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, JsonSchema>>;
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, JsonSchema>>;
  };
}

export interface ApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly 'x-permission': string;
  readonly parameters?: readonly ApiParameter[];
  readonly requestBody?: {
    readonly required: true;
    readonly content: { readonly 'application/json': { readonly schema: JsonSchema } };
  };
  readonly responses: Readonly<Record<string, JsonSchema>>;
}

export interface ApiParameter {
  readonly name: string;
  readonly in: 'query';
  readonly required: boolean;
  readonly schema?: JsonSchema;
  /** For a structured field, which is written as JSON. */
  readonly content?: { readonly 'application/json': { readonly schema: JsonSchema } };
}

export const apiBasePath = '/api/v1';

const description = [
  'Everything the dashboard does, for programs. Send an API token as `Authorization: Bearer flt_…`; it names its',
  'organization by itself. Reading is GET with the input in the query, changing is POST with it as JSON. Dates are ISO',
  '8601 strings. Failures are problem documents (RFC 9457) with a `code` that does not change.',
].join(' ');

let made: ApiDocument | undefined;

export function apiDocument(): ApiDocument {
  made ??= buildDocument();
  return made;
}

function buildDocument(): ApiDocument {
  const features = [...new Set(operations().map(featureOf))];
  return {
    openapi: '3.1.0',
    info: { title: 'Fairlead', version: '1', description },
    servers: [{ url: apiBasePath }],
    security: [{ token: [] }],
    tags: features.map((name) => ({ name })),
    paths: Object.fromEntries(
      operations().map((operation) => [
        `/${operation.path}`,
        { [operation.method.toLowerCase()]: tell(operation) } as ApiDocument['paths'][string],
      ]),
    ),
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'An API token: flt_…' } },
      schemas: { Problem: problem },
      responses: {
        Problem: {
          description: 'It did not happen; `code` says why and `title` says it to people.',
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      },
    },
  };
}

function tell(operation: Operation): ApiOperation {
  const { procedure, method, permission, input, output } = operation;
  return {
    operationId: procedure,
    summary: summaryOf(operation),
    description: `Needs the permission \`${permission}\`.`,
    tags: [featureOf(operation)],
    'x-permission': permission,
    ...(input !== null && method === 'GET' ? { parameters: parametersOf(published(input)) } : {}),
    ...(input !== null && method === 'POST'
      ? { requestBody: { required: true, content: { 'application/json': { schema: published(input) } } } as const }
      : {}),
    responses: {
      '200': { description: 'Done.', content: { 'application/json': { schema: published(output) } } },
      default: { $ref: '#/components/responses/Problem' },
    },
  };
}

function parametersOf(input: JsonSchema): ApiParameter[] {
  const required = input.required ?? [];
  return Object.entries(input.properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(isPlain(schema) ? { schema } : { content: { 'application/json': { schema } } }),
  }));
}

function featureOf({ path }: Operation): string {
  return path.split('/')[0] ?? path;
}

/** deployment/rollback → "Rollback deployment". */
function summaryOf({ path }: Operation): string {
  const [feature = '', verb = ''] = path.split('/').map((part) => part.replaceAll('-', ' '));
  return `${verb.charAt(0).toUpperCase()}${verb.slice(1)} ${feature}`;
}

const problem: JsonSchema = {
  type: 'object',
  required: ['type', 'title', 'status', 'code', 'details', 'fields', 'errorId'],
  properties: {
    type: { type: 'string', const: 'about:blank' },
    title: { type: 'string', description: 'What happened and what to do, in whole sentences.' },
    status: { type: 'integer', enum: [...new Set(errorCodes.map((code) => errorTable[code].http))].sort() },
    code: { type: 'string', enum: errorCodes, description: 'Codes only grow.' },
    details: { type: 'object', description: 'Ids and values that the failure is about.' },
    fields: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Of bad input: path of the field → sentence.',
    },
    errorId: { type: ['string', 'null'], description: 'Of an unexpected failure: where to find it in the log.' },
  },
};
