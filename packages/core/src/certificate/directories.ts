// Directories of authorities that orders could not reach. The control plane asks for the directory itself, which costs little, so
// that orders wait for hours while it is down and continue within minutes after it is back.
import type { SystemCtx } from '../kernel/index.ts';

/** Failures of an authority that does not answer as it should. */
const downCodes = ['certificate.authority_unreachable', 'certificate.authority_invalid', 'certificate.timeout'];

/** Returns the directories that certificates wait for. */
export async function listDownDirectories({ tx, clock }: SystemCtx): Promise<readonly string[]> {
  const rows = await tx.acmeAccount.findMany({
    where: {
      OR: [
        { downSince: { not: null } },
        { certificates: { some: { failureCode: { in: downCodes }, nextAttemptAt: { gt: clock.now() } } } },
      ],
    },
    distinct: ['directoryUrl'],
    select: { directoryUrl: true },
  });
  return rows.map(({ directoryUrl }) => directoryUrl);
}

/** Records if a directory answers. Once one that was down does, its certificates are ordered at once. */
export async function recordDirectory(
  { tx, clock }: SystemCtx,
  { directoryUrl, isUp }: { readonly directoryUrl: string; readonly isUp: boolean },
): Promise<void> {
  if (!isUp) {
    await tx.acmeAccount.updateMany({ where: { directoryUrl, downSince: null }, data: { downSince: clock.now() } });
    return;
  }
  // Without an outage that was seen from here, the servers of the host have the fault: their own backoff continues.
  const back = await tx.acmeAccount.findMany({
    where: { directoryUrl, downSince: { not: null } },
    select: { id: true },
  });
  const ids = back.map(({ id }) => id);
  await tx.acmeAccount.updateMany({ where: { id: { in: ids } }, data: { downSince: null } });
  await tx.certificate.updateMany({
    where: { accountId: { in: ids }, failureCode: { in: downCodes }, orderServerId: null },
    data: { nextAttemptAt: null },
  });
}
