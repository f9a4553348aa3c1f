// Jobs of the artifact store.
import { pruneArtifacts } from '@fairlead/core/artifact';
import type { Handler } from './handler.ts';

// A sender may come again after a day offline.
const unfinishedMs = 2 * 24 * 60 * 60_000;

export const pruneArtifactsHandler: Handler<'artifact.prune'> = async ({ database, artifacts, clock, log }) => {
  const gone = await database.system('artifact.prune', (tx) => pruneArtifacts({ tx, clock, log }));
  // The rows went first: an object without a row is nobody's, and comes to no harm when it is sent again.
  for (const key of gone) await artifacts.delete(key);
  const unfinished = await artifacts.pruneUnfinished(new Date(clock.now().getTime() - unfinishedMs));
  if (gone.length + unfinished > 0) log.info({ artifacts: gone.length, unfinished }, 'artifacts were pruned');
};
