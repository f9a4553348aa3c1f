// What holds of every procedure, whoever writes the next one.
import { permissionSchema } from '@fairlead/core/role';
import { TRPCError } from '@trpc/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiRouter } from './router.ts';
import { startTestApi, type TestApi } from './testing/index.ts';

interface ProcedureDef {
  readonly type: 'query' | 'mutation' | 'subscription';
  readonly output?: unknown;
  readonly inputs?: readonly { readonly shape?: Readonly<Record<string, unknown>> }[];
  readonly meta?: { readonly access?: string; readonly grain?: string; readonly lists?: true };
}

const procedures = Object.entries(
  apiRouter._def.procedures as unknown as Record<string, { readonly _def: ProcedureDef }>,
).map(([path, { _def }]) => [path, _def] as const);
const ofMembers = procedures.filter(([, def]) => !['public', 'signed_in'].includes(def.meta?.access ?? ''));

let api: TestApi;
let stranger: string;
let viewer: string;

beforeAll(async () => {
  api = await startTestApi();
  stranger = (await api.signUp('Stranger', null)).cookie;
  viewer = (await api.signUp('Viewer', 'viewer')).cookie;
});
afterAll(() => api.close());

/** Calls a procedure by its path with an input that fits none: who may not call it must not learn even that. */
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
  test('declares who may call it and what it answers', () => {
    expect([...permissionSchema.options, 'public', 'signed_in']).toContain(def.meta?.access);
    expect(def.output, 'an output schema').toBeDefined();
  });

  test('changes nothing with a permission to read', () => {
    if (def.type === 'mutation') expect(def.meta?.access).not.toMatch(/\.read$/);
  });
});

// What is judged by the environment that the input names must happen in it: a schema that dropped the field would let who is
// granted one environment act on the one where the app was made.
test('what names an app and is granted by environment takes the environment too', () => {
  const dropping = procedures.flatMap(([path, { meta, inputs }]) => {
    const fields = Object.keys(inputs?.[0]?.shape ?? {});
    const namesApp = fields.includes('appId') || fields.includes('slug');
    return meta?.grain === 'environment' && meta.lists !== true && namesApp && !fields.includes('environmentId')
      ? [path]
      : [];
  });
  expect(dropping).toEqual([]);
});

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

test.each(ofMembers)('%s is closed to those who are signed in but not members', async (path) => {
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
