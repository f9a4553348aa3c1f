// Owns a person's passkeys: adding one from a session that just proved who it is, naming, removing.
import { AppError } from '@fairlead/contract/errors';
import { z } from 'zod';
import type { Session } from './create-auth.ts';
import { requireFresh } from './fresh.ts';
import { answer, readJson, refuse, withBody, withoutBody } from './http.ts';
import { type Internals, noteChange } from './internals.ts';
import { authPath } from './library.ts';
import { passkeyBodyBytesMax, verifyPasskey } from './sign-in.ts';

export interface PasskeyView {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  /** Kept in a password manager or an account, so that it outlives its device. */
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

/** What the browser needs to make a passkey. */
export async function registrationOptions(internals: Internals, request: Request, session: Session): Promise<Response> {
  requireFresh(session, new Date());
  const count = await internals.client().passkey.count({ where: { userId: session.user.id } });
  if (count >= passkeysMax) return refuse('request.too_many');
  const response = await internals
    .library()
    .handler(withoutBody(request, `${authPath}/passkey/generate-register-options`));
  if (!response.ok) return refuse('session.passkey_refused');
  return answer((await response.json()) as object, response);
}

export async function addPasskey(internals: Internals, request: Request, session: Session): Promise<Response> {
  requireFresh(session, new Date());
  const body = registrationBody.safeParse(await readJson(request, passkeyBodyBytesMax));
  if (!body.success) return refuse('input.invalid');
  const response = await internals
    .library()
    .handler(withBody(request, `${authPath}/passkey/verify-registration`, body.data));
  if (!response.ok) return refuse('session.passkey_refused');
  // Making it asked for the same finger, face or PIN.
  await internals.client().session.updateMany({ where: { id: session.id }, data: { passkeyAt: new Date() } });
  await noteChange(internals, session.user.id, 'passkey_added', request.headers, body.data.name);
  return answer({ added: true }, response);
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
    .session.updateMany({ where: { id: session.id }, data: { confirmedAt: now, passkeyAt: now } });
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

export async function removePasskey(
  internals: Internals,
  headers: Headers,
  session: Session,
  { passkeyId }: { passkeyId: string },
): Promise<void> {
  requireFresh(session, new Date());
  const where = { id: passkeyId, userId: session.user.id };
  const passkey = await internals.client().passkey.findFirst({ where, select: { name: true } });
  const { count } = await internals.client().passkey.deleteMany({ where });
  if (count === 0) throw new AppError('account.passkey_not_found');
  await forgetPasskeyProofs(internals, session.user.id);
  await noteChange(internals, session.user.id, 'passkey_removed', headers, passkey?.name ?? null);
}

/** Of an account that somebody else may have prepared: its passkeys open it no more. */
export async function dropPasskeys(internals: Internals, userId: string): Promise<void> {
  await internals.client().passkey.deleteMany({ where: { userId } });
  await forgetPasskeyProofs(internals, userId);
}

/** Who has no passkey any more has no second factor by one, in any session. */
async function forgetPasskeyProofs({ client }: Internals, userId: string): Promise<void> {
  if ((await client().passkey.count({ where: { userId } })) > 0) return;
  await client().session.updateMany({ where: { userId }, data: { passkeyAt: null } });
}
