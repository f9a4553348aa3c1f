// Owns how a request without an organization reaches the database: system scope, with its reason named.
import type { SystemCtx } from '@fairlead/core/kernel';
import type { ApiContext } from './context.ts';

export function inSystemScope<T>(ctx: ApiContext, reason: string, run: (core: SystemCtx) => Promise<T>): Promise<T> {
  return ctx.database.system(reason, (tx) => run({ tx, clock: ctx.clock, log: ctx.log }));
}
