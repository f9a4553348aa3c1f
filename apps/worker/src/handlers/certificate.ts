// Jobs of certificates.
import { listOrganizationsWithHosts, planOrders } from '@fairlead/core/certificate';
import type { Handler } from './handler.ts';

export const planCertificatesHandler: Handler<'certificate.plan'> = async (parts) => {
  const { database, clock, log, secretKeys, acmeDirectoryUrl } = parts;
  if (acmeDirectoryUrl === '') return;
  const ids = await database.system('certificate.plan', (tx) => listOrganizationsWithHosts({ tx, clock, log }));
  for (const organizationId of ids) {
    try {
      await database.tenant(organizationId, (tx) =>
        planOrders({ tx, organizationId, clock, log }, secretKeys, { directoryUrl: acmeDirectoryUrl }),
      );
    } catch (error) {
      // One organization's certificates must not block the others; the next run resumes.
      log.error({ err: error, organizationId }, 'certificates could not be ordered for now');
    }
  }
};
