// Procedures of moves of apps with their volumes. `server.moveApps` starts them.
import {
  cancelMove,
  listMoves,
  listMovesInputSchema,
  retryMove,
  volumeMoveListSchema,
  volumeMoveRefSchema,
} from '@fairlead/core/volume-move';
import { memberProcedure, router } from '../procedures.ts';
import { approverIn } from '../protection.ts';
import { byVolumeMove, movesApp } from '../volume-scopes.ts';

export const volumeMoveRouter = router({
  list: memberProcedure('server.read', { input: listMovesInputSchema })
    .output(volumeMoveListSchema)
    .query(({ ctx, input }) => listMoves(ctx.core, input)),

  cancel: memberProcedure('server.write', {
    input: volumeMoveRefSchema,
    also: movesApp,
    protection: approverIn(byVolumeMove),
  })
    .output(volumeMoveRefSchema)
    .mutation(({ ctx, input }) => cancelMove(ctx.core, input)),

  // Fresh, as the start of the move was.
  retry: memberProcedure('server.write', {
    input: volumeMoveRefSchema,
    also: movesApp,
    protection: approverIn(byVolumeMove),
    fresh: true,
  })
    .output(volumeMoveRefSchema)
    .mutation(({ ctx, input }) => retryMove(ctx.core, input)),
});
