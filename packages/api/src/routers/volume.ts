// Procedures of volumes. They outlive apps and environments, so deleting one needs a permission in the organization.
import {
  createSnapshot,
  deletedVolumeSchema,
  deleteVolume,
  deleteVolumeInputSchema,
  listSnapshots,
  listVolumes,
  listVolumesInputSchema,
  restoreVolume,
  snapshotListSchema,
  volumeListSchema,
  volumeRefSchema,
} from '@fairlead/core/volume';
import { memberProcedure, router } from '../procedures.ts';
import { approverOfVolume } from '../protection.ts';
import { byAnyPlacement } from '../scopes.ts';
import { byVolume } from '../volume-scopes.ts';

export const volumeRouter = router({
  list: memberProcedure('app.read', { input: listVolumesInputSchema, scope: byAnyPlacement })
    .output(volumeListSchema)
    .query(({ ctx, input }) => listVolumes(ctx.core, input)),

  listSnapshots: memberProcedure('app.read', { input: volumeRefSchema, scope: byVolume })
    .output(snapshotListSchema)
    .query(({ ctx, input }) => listSnapshots(ctx.core, input)),

  createSnapshot: memberProcedure('app.write', {
    input: volumeRefSchema,
    scope: byVolume,
    protection: approverOfVolume,
  })
    .output(volumeRefSchema)
    .mutation(({ ctx, input }) => createSnapshot(ctx.core, input)),

  delete: memberProcedure('app.delete', { input: deleteVolumeInputSchema, protection: approverOfVolume })
    .output(deletedVolumeSchema)
    .mutation(({ ctx, input }) => deleteVolume(ctx.core, input)),

  restore: memberProcedure('app.delete', { input: volumeRefSchema, protection: approverOfVolume })
    .output(volumeRefSchema)
    .mutation(({ ctx, input }) => restoreVolume(ctx.core, input)),
});
