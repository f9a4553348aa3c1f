// Fetches webhooks that did not arrive, because the control plane was away, from GitHub's log of deliveries.
import { requireAppKey } from '@fairlead/core/github';
import { AppError, type OrganizationCtx } from '@fairlead/core/kernel';
import { claimDeliveryLogs, type DueApp, deferDeliveryLog, recoverDeliveries } from '@fairlead/core/push';
import { GithubError } from '@fairlead/github';
import type { Handler, HandlerParts } from './handler.ts';

export const recoverDeliveriesHandler: Handler<'delivery.recover'> = async (parts) => {
  const { database, clock, turns } = parts;
  const due = await database.system('delivery.recover', (tx) =>
    claimDeliveryLogs({ tx, clock }, turns.busy('delivery.recover')),
  );
  await turns.runEach('delivery.recover', due, {
    work: (app) => recoverOf(parts, app),
    failed: 'the log of webhooks at GitHub was not compared',
  });
};

async function recoverOf({ database, clock, log, github, secretKeys }: HandlerParts, app: DueApp): Promise<void> {
  const { githubAppId, organizationId } = app;
  const tenant = <T>(work: (ctx: OrganizationCtx) => Promise<T>): Promise<T> =>
    database.tenant(organizationId, (tx) => work({ tx, organizationId, clock, log }));
  try {
    const recovered = await recoverDeliveries(
      {
        github,
        key: await tenant((ctx) => requireAppKey(ctx, githubAppId, secretKeys)),
        tenant,
        system: (work) => database.system('delivery.recover', (tx) => work({ tx, clock })),
      },
      app,
    );
    if (recovered > 0) log.info({ githubAppId, recovered }, 'webhooks that did not arrive were fetched from GitHub');
  } catch (error) {
    // An AppError: the app was removed meanwhile.
    if (!(error instanceof GithubError || error instanceof AppError)) throw error;
    log.warn({ err: error, githubAppId }, 'the log of webhooks at GitHub could not be read');
    const retryAt = error instanceof GithubError ? error.retryAt : null;
    if (retryAt !== null) await tenant((ctx) => deferDeliveryLog(ctx, githubAppId, retryAt));
  }
}
