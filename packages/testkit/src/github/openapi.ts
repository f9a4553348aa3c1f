// GitHub's published OpenAPI description: checks requests against it, and makes answers of its examples.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Ajv } from 'ajv';

type Json = Readonly<Record<string, unknown>>;

interface Operation {
  readonly requestBody?: { readonly required?: boolean };
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly examples: Readonly<Record<string, { readonly value: unknown }>> };
}

interface Loaded {
  readonly description: Description;
  readonly ajv: Ajv;
}

let loaded: Loaded | null = null;

/** Loads the description once, at its first use: it is large. */
function load(): Loaded {
  if (loaded !== null) return loaded;
  // The package's entry would also load the descriptions of every Enterprise version.
  const file = createRequire(import.meta.url).resolve('@octokit/openapi/generated/api.github.com.json');
  const description: Description = JSON.parse(readFileSync(file, 'utf8'));
  const ajv = new Ajv({ strict: false, validateFormats: false, addUsedSchema: false });
  ajv.addSchema(description as unknown as Json, 'github');
  loaded = { description, ajv };
  return loaded;
}

/** Returns the violation of a request's body; null if the description allows it. Throws for an unknown operation. */
export function bodyProblem(method: string, path: string, body: unknown): string | null {
  const { description, ajv } = load();
  const operation = description.paths[path]?.[method.toLowerCase()];
  if (operation === undefined) throw new Error(`GitHub describes no ${method} ${path}`);
  if (operation.requestBody === undefined) return body === null ? null : 'this operation has no body';
  if (body === null) return operation.requestBody.required === true ? 'the body is missing' : null;
  const at = ['paths', path, method.toLowerCase(), 'requestBody', 'content', 'application/json', 'schema'];
  const pointer = at.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
  const validate = ajv.compile({ $ref: `github#/${pointer}` });
  return validate(body) ? null : ajv.errorsText(validate.errors);
}

/** Returns a copy of an example of the description. */
export function exampleOf<T extends object = Record<string, unknown>>(name: string): T {
  const example = load().description.components.examples[name];
  if (example === undefined) throw new Error(`GitHub describes no example ${name}`);
  return structuredClone(example.value) as T;
}
