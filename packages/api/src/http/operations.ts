// Operations of the HTTP API with their names, methods and schemas. They come from the router: every procedure that a
// token may call is included.
import type { Permission } from '@fairlead/core/role';
import { tokenPermissionSchema } from '@fairlead/core/token';
import { z } from 'zod';
import type { ProcedureMeta } from '../procedures.ts';
import { apiRouter } from '../router.ts';
import { type JsonSchema, toJsonSchema } from './json-schema.ts';

export interface Operation {
  /** Name of the procedure: serviceAccount.list. */
  readonly procedure: string;
  /** Below /api/v1: service-account/list. */
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly permission: Permission;
  /** Null: it takes no input. */
  readonly input: JsonSchema | null;
  readonly output: JsonSchema;
}

interface ProcedureDef {
  readonly type: 'query' | 'mutation' | 'subscription';
  readonly meta?: ProcedureMeta;
  readonly inputs: readonly unknown[];
  readonly output?: unknown;
}

/** Streams are for browsers, and what only a person may do is for people. */
export function isForTokens(def: Pick<ProcedureDef, 'type' | 'meta'>): boolean {
  return def.type !== 'subscription' && tokenPermissionSchema.safeParse(def.meta?.access).success;
}

let made: readonly Operation[] | undefined;

/** Returns the operations by path. Built once: the router does not change while the process runs. */
export function operations(): readonly Operation[] {
  made ??= procedures().flatMap(([procedure, def]) => (isForTokens(def) ? [operationOf(procedure, def)] : []));
  return made;
}

export function procedures(): readonly (readonly [string, ProcedureDef])[] {
  const all = apiRouter._def.procedures as unknown as Record<string, { readonly _def: ProcedureDef }>;
  return Object.entries(all).map(([procedure, { _def }]) => [procedure, _def] as const);
}

function operationOf(procedure: string, { type, meta, inputs, output }: ProcedureDef): Operation {
  const [input, ...more] = inputs;
  if (more.length > 0) throw new TypeError(`${procedure} has more than one input schema`);
  return {
    procedure,
    path: procedure.split('.').map(kebab).join('/'),
    method: type === 'query' ? 'GET' : 'POST',
    permission: tokenPermissionSchema.parse(meta?.access),
    input: input === undefined ? null : toJsonSchema(zodOf(procedure, input), 'input'),
    output: toJsonSchema(zodOf(procedure, output), 'output'),
  };
}

function zodOf(procedure: string, schema: unknown): z.ZodType {
  if (schema instanceof z.ZodType) return schema;
  throw new TypeError(`${procedure} has a schema that is not zod's`);
}

function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
