// Creates an enrolment, which lets one machine become a server.
// Invariant: it never stores the token itself.
import { type EnrolmentId, newId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, mintToken } from '../kernel/index.ts';

const lifetimeMs = 60 * 60 * 1000;

export interface CreatedEnrolment {
  readonly enrolmentId: EnrolmentId;
  /** Answered here and never again. */
  readonly token: string;
  readonly expiresAt: Date;
}

/** A single-use, short-lived permission for one server to join this organization under the given name. */
export async function createEnrolment(
  ctx: Ctx,
  input: { readonly name: string; readonly isLocal: boolean },
): Promise<CreatedEnrolment> {
  const { organizationId } = ctx;
  const taken = await ctx.tx.server.findFirst({ where: { organizationId, name: input.name }, select: { id: true } });
  if (taken !== null) throw new AppError('server.name_taken', { name: input.name });
  const now = ctx.clock.now();
  const expiresAt = new Date(now.getTime() + lifetimeMs);
  const enrolmentId = newId('enr');
  const { token, hash } = mintToken('enrol');
  await ctx.tx.serverEnrolment.create({
    data: {
      id: enrolmentId,
      organizationId,
      name: input.name,
      tokenHash: hash,
      isLocal: input.isLocal,
      createdAt: now,
      expiresAt,
    },
  });
  await recordAudit(ctx, {
    action: 'server.enrol',
    target: { kind: 'enrolment', id: enrolmentId, label: input.name },
    after: { name: input.name, isLocal: input.isLocal, expiresAt: expiresAt.toISOString() },
  });
  return { enrolmentId, token, expiresAt };
}
