// Feed of releases, from the settings.
import { openReleaseFiles } from '@fairlead/outbound/release-files';
import { type Environment, releaseKeys } from '@fairlead/settings';
import type { UpdateFeed } from './handlers/handler.ts';

/** Returns null without a feed, and in a clone, which has no key to verify a release. */
export function openUpdateFeed(env: Environment<'worker'>): UpdateFeed | null {
  const publicKeys = releaseKeys(env);
  if (env.FAIRLEAD_UPDATES_FEED === undefined || publicKeys.length === 0) return null;
  return { readFeedFile: openReleaseFiles(env.FAIRLEAD_UPDATES_FEED), publicKeys };
}
