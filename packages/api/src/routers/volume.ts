// Procedures of volumes. They outlive apps and environments, so deleting one needs a permission in the organization.
import {
  deletedVolumeSchema,
  deleteVolume,
  deleteVolumeInputSchema,
  listVolumes,
  listVolumesInputSchema,
  restoreVolume,
  volumeListSchema,
  volumeRefSchema,
} from '@fairlead/core/volume';
import { memberProcedure, router } from '../procedures.ts';
import { approverOfVolume } from '../protection.ts';
import { byAnyPlacement } from '../scopes.ts';

export const volumeRouter = router({
  list: memberProcedure('app.read', { input: listVolumesInputSchema, scope: byAnyPlacement })
    .output(volumeListSchema)
    .query(({ ctx, input }) => listVolumes(ctx.core, input)),

  delete: memberProcedure('app.delete', { input: deleteVolumeInputSchema, protection: approverOfVolume })
    .output(deletedVolumeSchema)
    .mutation(({ ctx, input }) => deleteVolume(ctx.core, input)),

  restore: memberProcedure('app.delete', { input: volumeRefSchema, protection: approverOfVolume })
    .output(volumeRefSchema)
    .mutation(({ ctx, input }) => restoreVolume(ctx.core, input)),
});
