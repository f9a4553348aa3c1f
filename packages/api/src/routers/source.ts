// Inspection of a repository before there is an app. A user may enter any address: the outbound client checks it, and
// a server reads it as a build would.
import { inspectTimeoutMs } from '@fairlead/contract/inspection';
import { toInspectQuery } from '@fairlead/core/app';
import { AppError, actorUserId } from '@fairlead/core/kernel';
import {
  inspectionSchema,
  inspectSourceInputSchema,
  listBranchesInputSchema,
  parseRefs,
  sourceBranchesSchema,
} from '@fairlead/core/source';
import { OutboundError, type OutboundResponse } from '@fairlead/outbound';
import type { ApiContext } from '../context.ts';
import { memberRequest, memberStream, router } from '../procedures.ts';
import { readsNewSource } from '../scopes.ts';

/** Longer than the gateway waits for its agent. */
const answerTimeoutMs = inspectTimeoutMs + 20_000;

export const sourceRouter = router({
  // No transaction is held, as for streams: the response comes from a foreign server.
  branches: memberStream('app.write', 'anywhere')
    .input(listBranchesInputSchema)
    .output(sourceBranchesSchema)
    .query(async ({ ctx, input }) => {
      const { status, body } = await ask(ctx, input.repositoryUrl);
      if (status !== 200) throw new AppError('source.closed', { status });
      const refs = parseRefs(body);
      if (refs === null) throw new AppError('source.not_a_repository');
      return refs;
    }),

  inspect: memberRequest('app.write', {
    input: inspectSourceInputSchema,
    also: readsNewSource,
    prepare: toInspectQuery,
  })
    .output(inspectionSchema)
    .query(async ({ ctx, signal }) => {
      await ctx.rateLimit.admitInspection(actorUserId(ctx.access.actor) ?? ctx.access.organizationId);
      const timeout = AbortSignal.timeout(answerTimeoutMs);
      return ctx.live.inspect(ctx.prepared, signal === undefined ? timeout : AbortSignal.any([signal, timeout]));
    }),
});

async function ask(ctx: ApiContext, repositoryUrl: string): Promise<OutboundResponse> {
  try {
    return await ctx.outbound.get(`${repositoryUrl}/info/refs?service=git-upload-pack`, {
      'user-agent': 'git/fairlead',
    });
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    const code = error.code === 'refused_address' ? 'source.address_refused' : 'source.unreachable';
    throw new AppError(code, {}, { cause: error });
  }
}
