// Jobs of the dashboard's domains.
import { type ExpectedAnswer, listExpectedAnswers, recordAnswer } from '@fairlead/core/dashboard-domain';
import { requestServed } from '@fairlead/outbound/served';
import type { Handler } from './handler.ts';

/** Asks the local server's proxy under each new domain. Links lead there once it answers. */
export const verifyDashboardDomainsHandler: Handler<'dashboard_domain.verify'> = async (parts) => {
  const { database, clock, log, servedPort } = parts;
  if (servedPort === undefined) return;
  const expected = await database.system('dashboard_domain.verify', (tx) => listExpectedAnswers({ tx, clock, log }));
  for (const answer of expected) {
    const reason = await findReason(answer, servedPort);
    if (reason === null)
      await database.system('dashboard_domain.verify', (tx) => recordAnswer({ tx, clock, log }, answer));
    else log.info({ host: answer.host, reason }, 'a domain of the dashboard does not answer yet');
  }
};

/** Returns why the dashboard does not answer under the domain; null if it does. */
async function findReason({ host, leaf }: ExpectedAnswer, port: number): Promise<string | null> {
  try {
    const status = await requestServed({ host, port, path: '/healthz', leaf });
    return status === 200 ? null : `status ${status}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
