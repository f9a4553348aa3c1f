// Jobs of the artifact store.
import { artifactGraceMs, findOrphans, pruneArtifacts, type StoredFile } from '@fairlead/core/artifact';
import type { Clock } from '@fairlead/core/kernel';
import type { Handler, HandlerParts } from './handler.ts';

// Age in milliseconds after which a partial upload is deleted: a sender may come back after a day offline.
const unfinishedMs = 2 * 24 * 60 * 60_000;

export const pruneArtifactsHandler: Handler<'artifact.prune'> = async (parts) => {
  const { database, artifacts, clock, log } = parts;
  const gone = await database.system('artifact.prune', (tx) => pruneArtifacts({ tx, clock, log }));
  // The rows are deleted first: no read reaches an object without a row, and an upload can bring it back. A writer that
  // recreates the row touches the file first, so the grace period spares it.
  for (const key of gone) await artifacts.delete(key, graceBegin(clock));
  const unfinished = await artifacts.pruneUnfinished(new Date(clock.now().getTime() - unfinishedMs));
  const orphans = await pruneOrphans(parts);
  if (gone.length + unfinished + orphans > 0) {
    log.info({ artifacts: gone.length, unfinished, orphans }, 'artifacts were pruned');
  }
};

function graceBegin(clock: Clock): Date {
  return new Date(clock.now().getTime() - artifactGraceMs);
}

const batchSize = 500;

/**
 * Removes files without a row, which a crash between file and row, or the deletion of an organization, leaves behind.
 */
async function pruneOrphans({ database, artifacts, clock, log }: HandlerParts): Promise<number> {
  let pruned = 0;
  const prune = async (files: readonly StoredFile[]): Promise<void> => {
    const orphans = await database.system('artifact.prune', (tx) => findOrphans({ tx, clock, log }, files));
    for (const key of orphans) if (await artifacts.delete(key, graceBegin(clock))) pruned += 1;
  };
  let batch: StoredFile[] = [];
  for await (const file of artifacts.list()) {
    batch.push(file);
    if (batch.length < batchSize) continue;
    await prune(batch);
    batch = [];
  }
  if (batch.length > 0) await prune(batch);
  return pruned;
}
