// Table of the declared permissions: roles and their procedures. The check uses it and docs/permissions.md shows it.
import type { Permission } from '@fairlead/core/role';
import type { AnyRouter } from '@trpc/server';
import type { z } from 'zod';
import type { ProcedureMeta } from '../../procedures.ts';

export interface DeclaredProcedure extends ProcedureMeta {
  readonly path: string;
  readonly type: 'query' | 'mutation' | 'subscription';
  /** Null: it takes none. */
  readonly input: z.ZodType | null;
}

export function declaredProcedures(router: AnyRouter): DeclaredProcedure[] {
  const procedures = router._def.procedures as unknown as Record<
    string,
    { readonly _def: { type: DeclaredProcedure['type']; meta?: ProcedureMeta; inputs: z.ZodType[] } }
  >;
  return Object.entries(procedures).map(([path, { _def }]) => {
    if (_def.meta === undefined) throw new TypeError(`${path} declares no access`);
    return { ..._def.meta, path, type: _def.type, input: _def.inputs[0] ?? null };
  });
}

export function isOfMembers(access: ProcedureMeta['access']): access is Permission {
  return access !== 'public' && access !== 'signed_in' && access !== 'operator';
}
