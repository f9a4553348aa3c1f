// Tells agents of new desired versions: at once on a database notification, and every few seconds by polling. The poll
// covers notifications that were lost.
import { desiredChannel, desiredNotice } from '@fairlead/contract/notify';
import type { Log } from '@fairlead/core/kernel';
import type { Database } from '@fairlead/db';
import type { Version } from '../session/version.ts';

const pollMs = 10_000;

export interface DesiredWatchOptions {
  readonly database: Database;
  /** Servers with an agent connected to this gateway. */
  readonly serverIds: () => readonly string[];
  readonly readVersions: (serverIds: readonly string[]) => Promise<ReadonlyMap<string, Version>>;
  readonly announce: (serverId: string, version: Version) => void;
  /** Runs when a server was deleted while its agent was connected. */
  readonly onGone: (serverId: string) => void;
  readonly log: Log;
}

/** Watches until the returned function is called. */
export async function watchDesired(options: DesiredWatchOptions): Promise<() => Promise<void>> {
  const { database, announce, log } = options;
  let polling: Promise<void> | null = null;

  async function poll(): Promise<void> {
    const serverIds = options.serverIds();
    if (serverIds.length === 0) return;
    const versions = await options.readVersions(serverIds);
    for (const serverId of serverIds) {
      const version = versions.get(serverId);
      if (version === undefined) options.onGone(serverId);
      else announce(serverId, version);
    }
  }

  function pollOnce(): void {
    polling ??= poll()
      .catch((error: unknown) => log.error({ err: error }, 'desired versions could not be read; trying again'))
      .finally(() => {
        polling = null;
      });
  }

  const unlisten = await database.listen(desiredChannel, {
    onNotice: (payload) => {
      const notice = parseNotice(payload);
      if (notice === null)
        return log.warn({ payload: payload.slice(0, 200) }, 'a notice of a desired version is malformed');
      announce(notice.serverId, { epoch: notice.epoch, number: BigInt(notice.number) });
    },
    onGap: pollOnce,
  });
  const timer = setInterval(pollOnce, pollMs);

  return async () => {
    clearInterval(timer);
    await unlisten();
    await polling;
  };
}

function parseNotice(payload: string) {
  try {
    return desiredNotice.parse(JSON.parse(payload));
  } catch {
    // Any database client can send a notification: ignore what does not parse, the poll finds the truth.
    return null;
  }
}
