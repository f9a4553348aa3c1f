// Jobs of host names.
import { hastenOrder } from '@fairlead/core/certificate';
import { claimDueHosts, type DueHost, pruneHosts, recordHostCheck } from '@fairlead/core/host';
import { forOrganization } from '@fairlead/core/kernel';
import type { Handler, HandlerParts } from './handler.ts';

/** Checks at a time: each waits for DNS servers most of the time. */
const concurrency = 10;

export const checkHostsHandler: Handler<'host.check'> = async (parts) => {
  const { database, clock, log, stopping } = parts;
  await database.system('host.check: prune', (tx) => pruneHosts({ tx, clock, log }));
  const due = [...(await database.system('host.check: claim', (tx) => claimDueHosts({ tx, clock, log })))];
  const work = async () => {
    for (let host = due.shift(); host !== undefined && !stopping.aborted; host = due.shift()) {
      try {
        await checkHost(parts, host);
      } catch (error) {
        // One host must not block the others; its lease ends, and it is checked again.
        log.error({ err: error, organizationId: host.organizationId, host: host.host }, 'a host could not be checked');
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
};

async function checkHost({ database, hostLookup, clock, log }: HandlerParts, due: DueHost): Promise<void> {
  const { organizationId, host } = due;
  const { findings, texts } = await hostLookup.lookUp(due);
  await database.system('host.check: record', async (tx) => {
    const ctx = { tx, clock, log };
    const { becameReady, aliasChanged } = await recordHostCheck(ctx, { organizationId, host, findings, texts });
    const scoped = forOrganization(ctx, organizationId);
    if (becameReady) await hastenOrder(scoped, host, 'records');
    if (aliasChanged) await hastenOrder(scoped, host, 'alias');
  });
}
