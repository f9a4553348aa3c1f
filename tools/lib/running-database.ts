// Locates the running control plane's database for an operator's commands on the same machine.
import { findRunning } from '@fairlead/db/embedded';
import type { Folders } from '../start/folders.ts';

export class NotRunning extends Error {}

/** Returns DATABASE_URL when it is set, else the URL of the embedded database in `folders`. Throws NotRunning. */
export async function requireRunningDatabase(folders: Folders): Promise<string> {
  const given = process.env.DATABASE_URL;
  if (given !== undefined && given !== '') return given;
  const running = await findRunning(folders.postgres);
  if (running !== null) return running;
  throw new NotRunning(`no database runs on ${folders.postgres}: start Fairlead first, or name its folder with --data`);
}
