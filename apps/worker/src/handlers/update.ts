// Daily check for a newer release of Fairlead.
import { checkFeed, isUpdateCheckDue, recordUpdateCheck } from '@fairlead/core/fairlead-update';
import type { Handler } from './handler.ts';

export const checkUpdateHandler: Handler<'update.check'> = async ({ database, clock, log, updates }) => {
  if (updates === null) return;
  const isDue = await database.system('update.check', (tx) => isUpdateCheckDue({ tx, clock, log }));
  if (!isDue) return;
  const found = await checkFeed(updates.readFeedFile, updates.publicKeys);
  if (found.failure !== null) log.warn({ failure: found.failure }, 'no release could be read from the feed');
  await database.system('update.check', (tx) => recordUpdateCheck({ tx, clock, log }, found));
};
