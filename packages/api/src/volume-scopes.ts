// Scopes of volumes, and of moves of apps with them.
import type { VolumeId, VolumeMoveId } from '@fairlead/contract/ids';
import { type AlsoNeeds, findPlacement, scopeOf } from './scopes.ts';

/** A volume where its app runs; one that was left belongs to the organization as a whole. */
export const byVolume = scopeOf<{ readonly volumeId: VolumeId }>(
  'environment',
  ['volumeId'],
  async (core, { volumeId }) => {
    const { tx, organizationId } = core;
    const row = await tx.volume.findFirst({
      where: { id: volumeId, organizationId },
      select: { appId: true, environmentId: true },
    });
    return row === null ? null : findPlacement(core, { id: row.appId }, row.environmentId);
  },
);

/** The app that moves, in its environment. */
export const byVolumeMove = scopeOf<{ readonly moveId: VolumeMoveId }>(
  'environment',
  ['moveId'],
  async (core, { moveId }) => {
    const { tx, organizationId } = core;
    const row = await tx.volumeMove.findFirst({
      where: { id: moveId, organizationId },
      select: { appId: true, environmentId: true },
    });
    return row === null ? null : findPlacement(core, { id: row.appId }, row.environmentId);
  },
);

/** The same rights as for the move of all apps of a server. */
export const movesApp: AlsoNeeds<{ readonly moveId: VolumeMoveId }> = {
  words: "`app.write` and `deployment.write` in the app's environment",
  permissions: ['app.write', 'deployment.write'],
  reads: ['moveId'],
  find: async (core, input) => {
    const [scope] = await byVolumeMove.find(core, input);
    if (scope === undefined) return [];
    return (['app.write', 'deployment.write'] as const).map((permission) => ({ anyOf: [permission] as const, scope }));
  },
};
