// Lists volumes.

import type { Ctx } from '../kernel/index.ts';
import { requirePlacement } from '../placement/index.ts';
import type { ListVolumesInput, VolumeList } from './schema.ts';
import { loadVolumes } from './store.ts';

export async function listVolumes(ctx: Ctx, input: ListVolumesInput): Promise<VolumeList> {
  const { appId } = input;
  if (appId === undefined) return { items: await loadVolumes(ctx, input) };
  // The caller's right was checked in one environment, so the list covers that one only.
  const { environmentId } = await requirePlacement(ctx, { appId, environmentId: input.environmentId });
  return { items: await loadVolumes(ctx, { appId, environmentId }) };
}
