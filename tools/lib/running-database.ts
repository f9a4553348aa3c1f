// Locates the running control plane's database for an operator's commands on the same machine.
import { findRunning } from '@fairlead/db/embedded';
import type { Given } from '@fairlead/settings';
import type { Folders } from '../start/folders.ts';

export class NotRunning extends Error {}

/** Returns the database of the settings if they name one, else the embedded one in `folders`. Throws NotRunning. */
export async function requireRunningDatabase(folders: Folders, { DATABASE_URL: given }: Given): Promise<string> {
  if (given !== undefined) return given;
  const running = await findRunning(folders.postgres);
  if (running !== null) return running;
  throw new NotRunning(`no database runs on ${folders.postgres}: start Fairlead first, or name its folder with --data`);
}
