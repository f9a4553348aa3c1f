// Ends the pause after a failed order when its cause is gone.
import { notifyChange, type OrganizationCtx } from '../kernel/index.ts';

/** Failures that correct records end, and those that a new alias of `_acme-challenge` ends. */
const codes = {
  records: [
    'certificate.dns',
    'certificate.unreachable',
    'certificate.wrong_answer',
    'certificate.caa',
    'certificate.refused',
  ],
  alias: ['certificate.no_dns_provider', 'certificate.dns_provider', 'certificate.timeout'],
} as const;

/** The pause that an authority demands stays. */
export async function hastenOrder(ctx: OrganizationCtx, host: string, changed: keyof typeof codes): Promise<void> {
  const { tx, organizationId } = ctx;
  const hastened = await tx.certificate.updateManyAndReturn({
    where: {
      organizationId,
      host,
      keyId: null,
      orderServerId: null,
      nextAttemptAt: { not: null },
      failureCode: { in: [...codes[changed]] },
    },
    data: { nextAttemptAt: null },
    select: { id: true },
  });
  for (const { id } of hastened) await notifyChange(ctx, { kind: 'certificate', id });
}
