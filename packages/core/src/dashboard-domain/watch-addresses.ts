// Addresses of the dashboard in a process: read at its start, and again whenever a domain changes, without a restart.
import { dashboardChannel } from '@fairlead/contract/notify';
import type { Database } from '@fairlead/db';
import type { Log } from '../kernel/index.ts';
import { answeredHosts, type DashboardFacts, dashboardUrl } from './rules.ts';

export interface DashboardAddresses {
  /** Address for links and new servers, without a slash at its end. */
  readonly publicUrl: string;
  /** Origins of all domains that have answered, beside that of the settings' public URL. */
  readonly domainOrigins: readonly string[];
}

export interface WatchedAddresses extends DashboardAddresses {
  close(): Promise<void>;
}

export async function watchAddresses(
  database: Pick<Database, 'listen' | 'system'>,
  facts: DashboardFacts,
  log: Log,
): Promise<WatchedAddresses> {
  let current: DashboardAddresses = { publicUrl: facts.settingsUrl, domainOrigins: [] };
  let reading = Promise.resolve();
  const read = async () => {
    const rows = await database.system("read the dashboard's domains", (tx) =>
      tx.dashboardDomain.findMany({ where: { answeredAt: { not: null } }, select: { host: true, answeredAt: true } }),
    );
    const urls = facts.reach === 'served' ? answeredHosts(rows).map((host) => dashboardUrl(host, facts)) : [];
    current = { publicUrl: urls[0] ?? facts.settingsUrl, domainOrigins: urls };
  };
  // One read after the other, so that an older one never wins.
  const readAgain = () => {
    reading = reading
      .then(read)
      .catch((error: unknown) => log.error({ err: error }, "the dashboard's domains could not be read"));
  };
  const unlisten = await database.listen(dashboardChannel, { onNotice: readAgain, onGap: readAgain });
  try {
    await read();
  } catch (error) {
    await unlisten();
    throw error;
  }
  return {
    get publicUrl() {
      return current.publicUrl;
    },
    get domainOrigins() {
      return current.domainOrigins;
    },
    close: async () => {
      await unlisten();
      await reading;
    },
  };
}
