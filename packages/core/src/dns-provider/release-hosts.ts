// Lets hosts that waited for a DNS provider order at once.
import type { OrganizationCtx } from '../kernel/index.ts';

/** Failures that another provider, or other credentials, may fix. */
const codes = ['certificate.no_dns_provider', 'certificate.dns_provider'];

export async function releaseHosts({ tx, organizationId }: OrganizationCtx, zones: readonly string[]): Promise<void> {
  await tx.certificate.updateMany({
    where: {
      organizationId,
      failureCode: { in: codes },
      orderServerId: null,
      OR: zones.flatMap((zone) => [{ host: zone }, { host: { endsWith: `.${zone}` } }]),
    },
    data: { nextAttemptAt: null },
  });
}
