// Opens system scope with a stated reason, for requests without an organization.
import type { SystemCtx } from '@fairlead/core/kernel';
import type { ApiContext } from './context.ts';

export function inSystemScope<T>(ctx: ApiContext, reason: string, run: (core: SystemCtx) => Promise<T>): Promise<T> {
  return ctx.database.system(reason, (tx) => run({ tx, clock: ctx.clock, log: ctx.log }));
}
