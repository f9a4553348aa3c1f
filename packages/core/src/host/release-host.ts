// Releases the proof of a host: any organization may prove the name next.
import { recordAudit } from '../audit/index.ts';
import { type Ctx, notifyChange } from '../kernel/index.ts';
import { appChange } from './conflicts.ts';
import { newProofToken, requireProof } from './proofs.ts';
import type { HostRef } from './schema.ts';

/** Throws domain.not_proven. The host is served as before until another organization proves it. */
export async function releaseHost(ctx: Ctx, { domainId }: HostRef): Promise<HostRef> {
  const { tx, organizationId } = ctx;
  const { proof, appId } = await requireProof(ctx, domainId);
  // A record that is still there must not prove it again at the next check.
  const released = { provenAt: null, token: newProofToken(), transferHash: null, transferExpiresAt: null };
  await tx.hostProof.updateMany({ where: { id: proof.id, organizationId }, data: released });
  await recordAudit(ctx, {
    action: 'host.release',
    target: { kind: 'host', id: proof.id, label: proof.host },
    before: { provenAt: proof.provenAt?.toISOString() ?? null },
  });
  await notifyChange(ctx, appChange(appId));
  return { domainId };
}
