// Jobs of previews.
import type { Ctx } from '@fairlead/core/kernel';
import { deleteLogs } from '@fairlead/core/log';
import {
  deletePreviewEnvironment,
  findEndedPreviews,
  findOutdatedPreviews,
  type PreviewTask,
  prunePreviews,
  refreshPreview,
} from '@fairlead/core/preview';
import type { Handler } from './handler.ts';

const actor = { kind: 'system', reason: 'preview.sweep' } as const;

/** Each preview is a transaction of its own, and one that fails does not block the others: the next run tries it again. */
export const sweepPreviewsHandler: Handler<'preview.sweep'> = async ({ database, clock, log, logs }) => {
  const inTenant = async <T>(task: PreviewTask, work: (ctx: Ctx) => Promise<T>): Promise<T | null> => {
    const { organizationId, previewId } = task;
    try {
      return await database.tenant(organizationId, (tx) => work({ tx, organizationId, actor, clock, log }));
    } catch (error) {
      log.error({ err: error, organizationId, previewId }, 'a preview was not brought up to date for now');
      return null;
    }
  };
  const outdated = await database.system('preview.sweep', (tx) => findOutdatedPreviews({ tx, clock, log }));
  for (const task of outdated) await inTenant(task, (ctx) => refreshPreview(ctx, task));
  const ended = await database.system('preview.sweep', (tx) => findEndedPreviews({ tx, clock, log }));
  for (const task of ended) {
    const objectKeys = await inTenant(task, (ctx) => deletePreviewEnvironment(ctx, task));
    // A crash before this line leaves objects that nothing refers to.
    if (objectKeys !== null) await deleteLogs(logs, objectKeys);
  }
  await database.system('preview.sweep', (tx) => prunePreviews({ tx, clock }));
};
