// Makes valid inputs from zod schemas, and finds the ids in them.
// Invariant: it fails loudly for an unknown schema, because a call that is refused for its input proves nothing.
import { type IdPrefix, isId, newId } from '@fairlead/contract/ids';
import type { z } from 'zod';

/** An own id of each kind that there is a row of. */
export type IdPool = ReadonlyMap<string, string>;

export interface IdPlace {
  readonly path: readonly (string | number)[];
  /** A prefix, or `slug` and `cursor`, which name rows by other means. */
  readonly kind: string;
}

export interface Sample {
  readonly value: unknown;
  readonly ids: readonly IdPlace[];
}

// Candidates in order: the first that a text schema accepts is used.
const texts = [
  'matrix',
  'Matrix of permissions',
  'matrix.example.test',
  'https://git.example.test/matrix.git',
  'matrix@example.test',
  'correct horse battery staple',
  '/matrix',
  'MATRIX_NAME',
  '2030-01-01T00:00:00.000Z',
  '192.0.2.1',
  '192.0.2.0/24',
  '123456',
  'A'.repeat(32),
  'a'.repeat(64),
  '',
];
const numbers = [1, 0, 10, 100, 1000, 60_000];
/** Fields that name a row of an organization without being an id by their form. */
const namedFields: ReadonlySet<string> = new Set(['slug', 'cursor']);

interface Def {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly innerType?: z.ZodType;
  readonly element?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly in?: z.ZodType;
  readonly out?: z.ZodType;
  readonly entries?: Readonly<Record<string, string | number>>;
  readonly values?: readonly unknown[];
  readonly left?: z.ZodType;
}

/** The first sample is the plainest; each further one shows one more field, or another branch of a union. */
export function samplesOf(schema: z.ZodType, pool: IdPool, path: IdPlace['path'] = []): Sample[] {
  const def = (schema as unknown as { _zod: { def: Def } })._zod.def;
  const plain = (value: unknown): Sample[] => [{ value, ids: [] }];
  const inner = (of: z.ZodType | undefined) => (of === undefined ? [] : samplesOf(of, pool, path));
  switch (def.type) {
    case 'object':
      return objectSamples(def.shape ?? {}, pool, path);
    case 'string':
      return textSamples(schema, pool, path);
    case 'number':
      return plain(numbers.find((value) => schema.safeParse(value).success));
    case 'boolean':
      return plain(true);
    case 'date':
      return plain(new Date('2030-01-01T00:00:00.000Z'));
    case 'enum':
      return plain(Object.values(def.entries ?? {})[0]);
    case 'literal':
      return plain(def.values?.[0]);
    case 'null':
      return plain(null);
    case 'record':
      return plain({});
    case 'array': {
      if (schema.safeParse([]).success && inner(def.element).every(({ ids }) => ids.length === 0)) return plain([]);
      const elements = def.element === undefined ? [] : samplesOf(def.element, pool, [...path, 0]);
      return elements.map(({ value, ids }) => ({ value: [value], ids }));
    }
    case 'optional':
    case 'default':
    case 'prefault':
      return [...plain(undefined), ...inner(def.innerType)];
    case 'nullable':
    case 'readonly':
    case 'catch':
    case 'nonoptional':
      return inner(def.innerType);
    case 'union':
      return (def.options ?? []).flatMap((option) => inner(option));
    case 'intersection':
      return inner(def.left);
    case 'pipe':
      return typeOf(def.in) === 'transform' ? inner(def.out) : inner(def.in);
    default:
      return plain(undefined);
  }
}

/** Returns one sample for each set of references: other differences do not decide who may make a call. */
export function byReferences(samples: readonly Sample[]): Sample[] {
  return [...new Map(samples.toReversed().map((sample) => [JSON.stringify(sample.ids), sample])).values()].toReversed();
}

function typeOf(schema: z.ZodType | undefined): string | undefined {
  return (schema as unknown as { _zod: { def: Def } } | undefined)?._zod.def.type;
}

function objectSamples(shape: Readonly<Record<string, z.ZodType>>, pool: IdPool, path: IdPlace['path']): Sample[] {
  const fields = Object.entries(shape).map(([name, schema]) => ({
    name,
    samples: samplesOf(schema, pool, [...path, name]),
  }));
  const build = (chosen: string | null, index: number): Sample => {
    const value: Record<string, unknown> = {};
    const ids: IdPlace[] = [];
    for (const { name, samples } of fields) {
      const sample = samples[name === chosen ? index : 0];
      if (sample?.value === undefined) continue;
      value[name] = sample.value;
      ids.push(...sample.ids);
    }
    return { value, ids };
  };
  const further = fields.flatMap(({ name, samples }) => samples.slice(1).map((_, index) => build(name, index + 1)));
  return [build(null, 0), ...further];
}

function textSamples(schema: z.ZodType, pool: IdPool, path: IdPlace['path']): Sample[] {
  const field = path.at(-1);
  if (typeof field === 'string' && namedFields.has(field)) {
    return [{ value: field === 'slug' ? pool.get('slug') : 'cursor', ids: [{ path, kind: field }] }];
  }
  const text = texts.find((value) => schema.safeParse(value).success);
  if (text !== undefined) return [{ value: text, ids: [] }];
  for (const [kind, id] of pool) {
    if (isId(kind as IdPrefix, id) && schema.safeParse(id).success) return [{ value: id, ids: [{ path, kind }] }];
  }
  return [{ value: undefined, ids: [] }];
}

/** Returns a copy with another value at one path. */
export function withValueAt(value: unknown, [key, ...rest]: IdPlace['path'], replacement: unknown): unknown {
  if (key === undefined) return replacement;
  const copy: Record<string | number, unknown> | unknown[] = Array.isArray(value)
    ? [...value]
    : { ...(value as Record<string, unknown>) };
  const at = copy as Record<string | number, unknown>;
  at[key] = withValueAt(at[key], rest, replacement);
  return copy;
}

/** Returns an id of the kind that no row has. */
export function unknownOf(kind: string): string {
  if (kind === 'slug') return 'no-such-slug';
  return newId((kind === 'cursor' || kind === 'deletedApp' ? 'app' : kind) as IdPrefix);
}
