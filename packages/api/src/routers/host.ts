// Procedures of host names: DNS records, checks, proofs of ownership and their transfer.
import {
  acceptHost,
  acceptHostInputSchema,
  getHost,
  hostRefSchema,
  hostResultSchema,
  hostTransferSchema,
  releaseHost,
  requireHostOf,
  transferHost,
  verifyHost,
} from '@fairlead/core/host';
import { inSystemScope } from '../context.ts';
import { memberProcedure, router } from '../procedures.ts';
import { approverOfHost, open } from '../protection.ts';
import { byDomain } from '../scopes.ts';

export const hostRouter = router({
  get: memberProcedure('domain.read', { input: hostRefSchema, scope: byDomain })
    .output(hostResultSchema)
    .query(({ ctx, input }) => getHost(ctx.core, input)),

  verify: memberProcedure('domain.write', {
    input: hostRefSchema,
    scope: byDomain,
    protection: open('it only reads DNS records'),
  })
    .output(hostRefSchema)
    .mutation(({ ctx, input }) => verifyHost(ctx.core, input)),

  // A proof covers all names below it, so these need the permission in the whole organization.
  release: memberProcedure('domain.write', { input: hostRefSchema, protection: approverOfHost, fresh: true })
    .output(hostRefSchema)
    .mutation(({ ctx, input }) => releaseHost(ctx.core, input)),

  transfer: memberProcedure('domain.write', { input: hostRefSchema, protection: approverOfHost, fresh: true })
    .output(hostTransferSchema)
    .mutation(({ ctx, input }) => transferHost(ctx.core, input)),

  accept: memberProcedure('domain.write', { input: acceptHostInputSchema, protection: approverOfHost })
    .output(hostRefSchema)
    .mutation(async ({ ctx, input: { domainId, code } }) => {
      const { organizationId, actor, ip = null } = ctx.core;
      const { host } = await requireHostOf(ctx.core, domainId);
      await inSystemScope(ctx, 'transfer a proven name', (core) =>
        acceptHost(core, { organizationId, actor, ip, host, code }),
      );
      return { domainId };
    }),
});
