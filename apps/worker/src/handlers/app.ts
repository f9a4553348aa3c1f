// Jobs of apps.
import { findDueApps, purgeDueApp } from '@fairlead/core/app';
import { deleteLogs } from '@fairlead/core/log';
import type { Handler } from './handler.ts';

const actor = { kind: 'system', reason: 'app.purge' } as const;

export const purgeAppsHandler: Handler<'app.purge'> = async ({ database, clock, log, logs }) => {
  const due = await database.system('app.purge', (tx) => findDueApps({ tx, clock, log }));
  for (const { organizationId, appId } of due) {
    try {
      const purged = await database.tenant(organizationId, (tx) =>
        purgeDueApp({ tx, organizationId, actor, clock, log }, { appId }),
      );
      // A crash before this line leaves objects that nothing refers to.
      if (purged !== null) await deleteLogs(logs, purged.objectKeys);
    } catch (error) {
      // A failed purge must not block the others; the next run tries it again.
      log.error({ err: error, organizationId, appId }, 'an app was not deleted permanently for now');
    }
  }
};
