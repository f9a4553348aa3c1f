// Rules for every procedure, including new ones.
import { newId } from '@fairlead/contract/ids';
import { permissionSchema } from '@fairlead/core/role';
import { TRPCError } from '@trpc/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ProcedureMeta } from './procedures.ts';
import { apiRouter } from './router.ts';
import { startTestApi, type TestApi } from './testing/index.ts';
import { declaredProcedures } from './testing/matrix/declared.ts';
import { samplesOf } from './testing/matrix/sample.ts';

interface ProcedureDef {
  readonly type: 'query' | 'mutation' | 'subscription';
  readonly output?: unknown;
  readonly inputs?: readonly { readonly shape?: Readonly<Record<string, unknown>> }[];
  readonly meta?: ProcedureMeta;
}

const procedures = Object.entries(
  apiRouter._def.procedures as unknown as Record<string, { readonly _def: ProcedureDef }>,
).map(([path, { _def }]) => [path, _def] as const);
const declared = declaredProcedures(apiRouter);
const pool = new Map(
  (['app', 'dep', 'dom', 'env', 'grt', 'mem', 'prj', 'rel', 'rol', 'run', 'scg', 'sec', 'srv', 'vol'] as const).map(
    (kind) => [kind as string, newId(kind) as string],
  ),
);
const ofMembers = procedures.filter(([, def]) => !['public', 'signed_in', 'operator'].includes(def.meta?.access ?? ''));

let api: TestApi;
let stranger: string;
let viewer: string;

beforeAll(async () => {
  api = await startTestApi();
  stranger = (await api.signUp('Stranger', null)).cookie;
  viewer = (await api.signUp('Viewer', 'viewer')).cookie;
});
afterAll(() => api.close());

/**
 * Calls a procedure by its path with an invalid input: a caller without the permission must not even learn that it is
 * invalid.
 */
async function call(path: string, cookie?: string): Promise<unknown> {
  let target: unknown = api.caller(cookie);
  for (const part of path.split('.')) target = (target as Record<string, unknown>)[part];
  return (target as (input: unknown) => Promise<unknown>)({ nonsense: true });
}

function errorCodeOf(error: unknown): string | undefined {
  if (!(error instanceof TRPCError)) throw error;
  return (error.cause as { readonly published?: { readonly errorCode: string } } | undefined)?.published?.errorCode;
}

test('there are procedures to check', () => {
  expect(procedures.length).toBeGreaterThan(30);
});

describe.each(procedures)('%s', (_path, def) => {
  test('declares its callers and its output', () => {
    expect([...permissionSchema.options, 'public', 'signed_in', 'operator']).toContain(def.meta?.access);
    expect(def.output, 'an output schema').toBeDefined();
  });

  test('a read permission never allows a change', () => {
    if (def.type === 'mutation') expect(def.meta?.access).not.toMatch(/\.read$/);
  });
});

/** Reference that the procedure itself checks against the scope. */
const heldByVerb: Readonly<Record<string, readonly string[]>> = {
  // Every environment must belong to one of the two projects, for which the permission is checked.
  'app.move': ['environments'],
  // The permission is checked for the whole project.
  'app.update': ['environmentId'],
  // The app that decides about requests must run in the environment of the domain.
  'domain.updatePolicy': ['policy'],
  // It must be an environment of the app, for which the permission is checked.
  'preview.updatePolicy': ['environmentId'],
  'release.diff': ['fromReleaseId', 'toReleaseId'],
};
/** Servers, members and roles belong to the organization as a whole; other rows belong to a project or an environment. */
const placedKinds = ['app', 'dep', 'dom', 'env', 'prj', 'rel', 'run', 'scg', 'sec', 'slug'];

// The check must cover what the procedure reads. A reference that is not checked, or that the schema drops, would let a grant on
// one environment act on another. Types cover the rest: a finder takes what the schema returns.
test.each(ofMembers.filter(([, def]) => def.meta?.grain === 'environment' || def.meta?.grain === 'project'))(
  '%s judges every place that its input names',
  (path, { meta, inputs, type }) => {
    const fields = Object.keys(inputs?.[0]?.shape ?? {});
    const judged = meta?.judges ?? [];
    expect(judged.filter((field) => !fields.includes(field))).toEqual([]);
    // Lists show what the grants cover, and streams check each item that they show.
    if (meta?.lists === true || ['log.search', 'log.tail', 'live.watch'].includes(path)) return;
    const input = declared.find((each) => each.path === path)?.input;
    const named = input === null || input === undefined ? [] : samplesOf(input, pool).flatMap(({ ids }) => ids);
    const places = named.filter(({ kind }) => placedKinds.includes(kind)).map(({ path: [field] }) => String(field));
    const unjudged = [...new Set(places)].filter((field) => !judged.includes(field));
    expect(unjudged, type).toEqual(heldByVerb[path] ?? []);
  },
);

test.each(ofMembers.filter(([, def]) => def.type === 'mutation'))(
  '%s declares how a protected environment is safe from it',
  (_path, { meta }) => {
    expect(meta?.protection?.words).toMatch(/./);
  },
);

test.each(procedures.filter(([, def]) => def.meta?.access !== 'public'))(
  '%s asks strangers to sign in',
  async (path) => {
    const error = await call(path).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(errorCodeOf(error)).toBe('session.required');
  },
);

test.each(ofMembers)('%s refuses signed-in people who are not members', async (path) => {
  const error = await call(path, stranger).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(errorCodeOf(error)).toBe('organization.not_found');
});

test.each(ofMembers.filter(([, def]) => !def.meta?.access?.endsWith('.read')))(
  '%s is closed to viewers',
  async (path) => {
    const error = await call(path, viewer).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(errorCodeOf(error)).toBe('permission.denied');
  },
);
