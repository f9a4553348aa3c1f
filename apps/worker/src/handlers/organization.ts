// Jobs of organizations.
import type { OrganizationId } from '@fairlead/contract/ids';
import { deleteLogs } from '@fairlead/core/log';
import { claimEndingOrganizations, emptyOrganization, endOrganization } from '@fairlead/core/organization';
import type { Handler, HandlerParts } from './handler.ts';

export const sweepOrganizationsHandler: Handler<'organization.sweep'> = async (parts) => {
  const { database, clock, log } = parts;
  const ending = await database.system('organization.sweep', (tx) => claimEndingOrganizations({ tx, clock, log }));
  for (const organizationId of ending) {
    try {
      await end(parts, organizationId);
    } catch (error) {
      // A failed deletion must not block the others; the next sweep resumes where this one stopped.
      log.error({ err: error, organizationId }, 'the end of an organization failed for now');
    }
  }
};

async function end(
  { database, artifacts, clock, log, logs }: HandlerParts,
  organizationId: OrganizationId,
): Promise<void> {
  const actor = { kind: 'system', reason: 'organization.sweep' } as const;
  for (;;) {
    const objectKeys = await database.tenant(organizationId, (tx) =>
      emptyOrganization({ tx, organizationId, actor, clock, log }),
    );
    if (objectKeys === null) break;
    await deleteLogs(logs, objectKeys);
  }
  await database.system('organization.sweep', (tx) => endOrganization({ tx, clock, log }, { organizationId }));
  // A crash before this line leaves files without rows, which artifact.prune finds.
  await artifacts.deleteAll(organizationId);
}
