// Transfers the proof of a host to another organization: the owner creates a code, and the other one accepts with it.
// Invariant: neither learns which organization the other is.
import { newId, type OrganizationId, parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import {
  type Actor,
  AppError,
  type Ctx,
  forOrganization,
  hashToken,
  mintToken,
  type SystemCtx,
} from '../kernel/index.ts';
import { refreshConflicts } from './conflicts.ts';
import { lockZones, newProofToken, requireProof } from './proofs.ts';
import { provenName } from './records.ts';
import type { HostRef, HostTransfer } from './schema.ts';

const lifetimeMs = 7 * 24 * 3_600_000;

/** A new code replaces the previous one. Throws domain.not_proven. */
export async function transferHost(ctx: Ctx, { domainId }: HostRef): Promise<HostTransfer> {
  const { tx, organizationId, clock } = ctx;
  const { proof } = await requireProof(ctx, domainId);
  const { token: code, hash: transferHash } = mintToken('fl_host');
  const expiresAt = new Date(clock.now().getTime() + lifetimeMs);
  await tx.hostProof.updateMany({
    where: { id: proof.id, organizationId },
    data: { transferHash, transferExpiresAt: expiresAt },
  });
  await recordAudit(ctx, {
    action: 'host.transfer',
    target: { kind: 'host', id: proof.id, label: proof.host },
    after: { expiresAt: expiresAt.toISOString() },
  });
  return { name: proof.host, code, expiresAt };
}

export interface AcceptHost {
  readonly organizationId: OrganizationId;
  readonly actor: Actor;
  readonly ip: string | null;
  /** Host of a domain of the organization that accepts. */
  readonly host: string;
  readonly code: string;
}

/** The code is for one name: that of the proof, at or above the host. Throws domain.transfer_invalid. */
export async function acceptHost(ctx: SystemCtx, { organizationId, actor, ip, host, code }: AcceptHost): Promise<void> {
  const { tx, clock } = ctx;
  const offered = await tx.hostProof.findFirst({
    where: { transferHash: hashToken(code), transferExpiresAt: { gt: clock.now() }, provenAt: { not: null } },
    select: { host: true },
  });
  const name = provenName(host);
  if (offered === null || (offered.host !== name && !name.endsWith(`.${offered.host}`)))
    throw new AppError('domain.transfer_invalid', { host });
  await lockZones(ctx, [offered.host]);
  const [given] = await tx.hostProof.updateManyAndReturn({
    where: { host: offered.host, transferHash: hashToken(code), provenAt: { not: null } },
    data: { provenAt: null, token: newProofToken(), transferHash: null, transferExpiresAt: null },
  });
  if (given === undefined || given.organizationId === organizationId)
    throw new AppError('domain.transfer_invalid', { host });
  const provenAt = clock.now();
  const taken = await tx.hostProof.upsert({
    where: { organizationId_host: { organizationId, host: given.host } },
    create: { id: newId('prf'), organizationId, host: given.host, token: newProofToken(), provenAt },
    update: { provenAt },
  });
  const target = { kind: 'host', label: given.host };
  const giver = { ...forOrganization(ctx, parseId('org', given.organizationId)) };
  await recordAudit(
    { ...giver, actor: { kind: 'system', reason: 'another organization accepted the transfer' } },
    { action: 'host.release', target: { ...target, id: given.id }, before: { transfer: 'accepted' } },
  );
  await recordAudit(
    { ...forOrganization(ctx, organizationId), actor, ip },
    { action: 'host.accept', target: { ...target, id: taken.id } },
  );
  await refreshConflicts(ctx, given.host);
}
