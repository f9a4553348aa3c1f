// Adds passkeys from a fresh session; renames and removes them.
import { AppError } from '@fairlead/contract/errors';
import { z } from 'zod';
import type { Session } from './create-auth.ts';
import { endUnprovenSessions, forgetFactorProofs, recordFactorProof, requireFactorChange } from './factor-proof.ts';
import { answer, readJson, refuse, withBody, withoutBody } from './http.ts';
import { type Internals, noteChange } from './internals.ts';
import { authPath } from './library.ts';
import { ensureRecoveryCodes } from './recovery-codes.ts';
import { findRestorable, noteAddedFactor } from './restore-account.ts';
import { passkeyBodyBytesMax, verifyPasskey } from './sign-in.ts';
import { dropUnneededCodes } from './two-factor.ts';

export interface PasskeyView {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  /** True if stored in a password manager or an account, so that it outlives its device. */
  readonly isSynced: boolean;
}

const nameLengthMax = 60;
const passkeysMax = 20;
const base64Url = z
  .string()
  .max(24_576)
  .regex(/^[\w-]+$/);
const registrationBody = z.object({
  name: z.string().trim().min(1).max(nameLengthMax),
  response: z.object({
    id: base64Url,
    rawId: base64Url,
    type: z.literal('public-key'),
    response: z.object({
      clientDataJSON: base64Url,
      attestationObject: base64Url,
      transports: z
        .array(z.string().regex(/^[a-z-]{1,20}$/))
        .max(10)
        .default([]),
    }),
    clientExtensionResults: z.object({}).default({}),
  }),
});

/** Returns the options that the browser needs to make a passkey. */
export async function registrationOptions(internals: Internals, request: Request, session: Session): Promise<Response> {
  await requireFactorChange(internals, session);
  const count = await internals.client().passkey.count({ where: { userId: session.user.id } });
  if (count >= passkeysMax) return refuse('request.too_many');
  const response = await internals
    .library(request.headers)
    .handler(withoutBody(request, `${authPath}/passkey/generate-register-options`));
  if (!response.ok) return refuse('session.passkey_refused');
  return answer((await response.json()) as object, response);
}

export async function addPasskey(internals: Internals, request: Request, session: Session): Promise<Response> {
  await requireFactorChange(internals, session);
  const body = registrationBody.safeParse(await readJson(request, passkeyBodyBytesMax));
  if (!body.success) return refuse('input.invalid');
  const userId = session.user.id;
  const restorable = await findRestorable(internals, userId);
  const response = await internals
    .library(request.headers)
    .handler(withBody(request, `${authPath}/passkey/verify-registration`, body.data));
  if (!response.ok) return refuse('session.passkey_refused');
  // Creating it verified the same finger, face or PIN.
  if (!(await recordFactorProof(internals, { id: session.id }))) {
    await internals.client().passkey.deleteMany({ where: { userId, credentialID: body.data.response.id } });
    return refuse('session.required');
  }
  await endUnprovenSessions(internals, session);
  const recoveryCodes = await ensureRecoveryCodes(internals, userId);
  const added = { userId, restorable, headers: request.headers };
  await noteAddedFactor(internals, added, 'passkey_added', body.data.name);
  return answer({ added: true, recoveryCodes }, response);
}

/** Proves again who sits there, for the session that is open. The session that the library opens for it is ended. */
export async function confirmByPasskey(internals: Internals, request: Request, session: Session): Promise<Response> {
  const verified = await verifyPasskey(internals, request);
  if (verified === null) return refuse('session.passkey_refused');
  await internals.client().session.deleteMany({ where: { id: verified.sessionId } });
  if (verified.userId !== session.user.id) return refuse('session.passkey_refused');
  const now = new Date();
  await internals
    .client()
    .session.updateMany({ where: { id: session.id }, data: { confirmedAt: now, secondFactorAt: now } });
  return answer({ confirmed: true }, null);
}

export async function listPasskeys({ client }: Internals, userId: string): Promise<PasskeyView[]> {
  const rows = await client().passkey.findMany({ where: { userId }, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] });
  return rows.map((row) => ({
    id: row.id,
    name: row.name ?? 'Passkey',
    createdAt: row.createdAt ?? new Date(0),
    lastUsedAt: row.lastUsedAt,
    isSynced: row.backedUp,
  }));
}

export async function renamePasskey(
  { client }: Internals,
  session: Session,
  { passkeyId, name }: { passkeyId: string; name: string },
): Promise<void> {
  const where = { id: passkeyId, userId: session.user.id };
  const { count } = await client().passkey.updateMany({ where, data: { name } });
  if (count === 0) throw new AppError('account.passkey_not_found');
}

/** Removes one passkey; the other sessions have to prove a factor again. */
export async function removePasskey(
  internals: Internals,
  headers: Headers,
  session: Session,
  { passkeyId }: { passkeyId: string },
): Promise<void> {
  await requireFactorChange(internals, session);
  const where = { id: passkeyId, userId: session.user.id };
  const passkey = await internals.client().passkey.findFirst({ where, select: { name: true } });
  const { count } = await internals.client().passkey.deleteMany({ where });
  if (count === 0) throw new AppError('account.passkey_not_found');
  await dropUnneededCodes(internals, session.user.id);
  await forgetFactorProofs(internals, session.user.id, session.id);
  await noteChange(internals, session.user.id, 'passkey_removed', headers, passkey?.name ?? null);
}
