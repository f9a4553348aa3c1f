// Owns asking a repository what it has, before there is an app. Anybody may type any address: the outbound client judges it.
import { AppError } from '@fairlead/core/kernel';
import { listBranchesInputSchema, parseRefs, sourceBranchesSchema } from '@fairlead/core/source';
import { OutboundError, type OutboundResponse } from '@fairlead/outbound';
import type { ApiContext } from '../context.ts';
import { memberStream, router } from '../ladder.ts';

export const sourceRouter = router({
  // As for streams, no transaction is held: the answer is a foreign server's to give.
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
