// Accepts an enrolment: uses up its single-use token and stores the machine's key, in one transaction. The gateway has
// already checked that the agent holds that key.
import type { HostInfo, SealingKey } from '@fairlead/contract/agent';
import { newId, type OrganizationId, parseId, type ServerId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import {
  AppError,
  forOrganization,
  hashToken,
  isUniqueViolation,
  notifyChange,
  type SystemCtx,
} from '../kernel/index.ts';
import { agentVersionOf, hostInfoOf, recipientOf } from './agent-host.ts';

export interface AcceptEnrolmentInput {
  readonly token: string;
  /** Raw Ed25519, 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly host: HostInfo | undefined;
  readonly agentVersion: string;
  /** Address that the agent connected from. */
  readonly ip?: string | null;
  /** Its signature was checked by the gateway. */
  readonly sealing?: SealingKey | undefined;
}

export interface AcceptedEnrolment {
  readonly serverId: ServerId;
  readonly serverName: string;
  readonly organizationId: OrganizationId;
}

/** Throws link.enrolment_invalid, link.enrolment_expired, link.enrolment_used or link.server_name_taken. */
export async function acceptEnrolment(ctx: SystemCtx, input: AcceptEnrolmentInput): Promise<AcceptedEnrolment> {
  const now = ctx.clock.now();
  const tokenHash = hashToken(input.token);
  const enrolment = await ctx.tx.serverEnrolment.findUnique({ where: { tokenHash } });
  if (enrolment === null) throw new AppError('link.enrolment_invalid');
  if (enrolment.usedAt !== null) throw new AppError('link.enrolment_used');
  if (enrolment.expiresAt <= now) throw new AppError('link.enrolment_expired');

  const serverId = newId('srv');
  // The row itself decides: of two agents that send the token at once, one updates and the other finds it used.
  const { count } = await ctx.tx.serverEnrolment.updateMany({
    where: { id: enrolment.id, usedAt: null },
    data: { usedAt: now, serverId },
  });
  if (count === 0) throw new AppError('link.enrolment_used');

  const organizationId = parseId('org', enrolment.organizationId);
  try {
    await ctx.tx.server.create({
      data: {
        id: serverId,
        organizationId,
        name: enrolment.name,
        publicKey: new Uint8Array(input.publicKey),
        isLocal: enrolment.isLocal,
        agentVersion: agentVersionOf(input.agentVersion),
        hostInfo: hostInfoOf(input.host),
        sealingRecipient: recipientOf(input.sealing) ?? null,
      },
    });
  } catch (error) {
    if (isUniqueViolation(error))
      throw new AppError('link.server_name_taken', { name: enrolment.name }, { cause: error });
    throw error;
  }
  const scoped = forOrganization(ctx, organizationId);
  await recordAudit(
    { ...scoped, actor: { kind: 'agent', serverId }, ip: input.ip ?? null },
    {
      action: 'server.accept',
      target: { kind: 'server', id: serverId, label: enrolment.name },
      after: { name: enrolment.name, enrolmentId: enrolment.id, isLocal: enrolment.isLocal },
    },
  );
  await notifyChange(scoped, { kind: 'server', id: serverId });
  ctx.log.info({ serverId, organizationId, name: enrolment.name }, 'a server was enrolled');
  return { serverId, serverName: enrolment.name, organizationId };
}
