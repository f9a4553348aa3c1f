// Jobs of domains.
import { listOrganizationsWithBaseDomains, planBaseDomains } from '@fairlead/core/domain';
import type { Handler } from './handler.ts';

export const planBaseDomainsHandler: Handler<'domain.plan'> = async ({ database, clock, log }) => {
  const ids = await database.system('domain.plan', (tx) => listOrganizationsWithBaseDomains({ tx, clock, log }));
  for (const organizationId of ids) {
    try {
      await database.tenant(organizationId, (tx) => planBaseDomains({ tx, organizationId, clock, log }));
    } catch (error) {
      // One organization's names must not block the others; the next run resumes.
      log.error({ err: error, organizationId }, 'names below a base domain could not be given for now');
    }
  }
};
