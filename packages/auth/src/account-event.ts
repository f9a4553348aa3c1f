// Security log of an account, for its owner. It belongs to no organization.
// Invariant: it never holds a secret, nor an unconfirmed address.
import { newId } from '@fairlead/contract/ids';
import type { IdentityClient } from '@fairlead/db/identity';

export const accountEventKinds = [
  'signed_in',
  'signed_in_new_device',
  'signed_out_others',
  'session_ended',
  'password_changed',
  'password_reset',
  'email_verified',
  'email_changed',
  'passkey_added',
  'passkey_removed',
  'two_factor_on',
  'two_factor_off',
  'github_linked',
  'github_unlinked',
  'recovery_codes_made',
  'recovery_code_used',
  'recovered_on_server',
  'account_restored',
] as const;
export type AccountEventKind = (typeof accountEventKinds)[number];

export interface Origin {
  readonly ip: string | null;
  readonly userAgent: string | null;
}

const userAgentLengthMax = 300;

export async function recordEvent(
  client: Pick<IdentityClient, 'accountEvent'>,
  userId: string,
  kind: AccountEventKind,
  origin: Origin,
  detail: string | null = null,
): Promise<void> {
  const userAgent = origin.userAgent?.slice(0, userAgentLengthMax) ?? null;
  await client.accountEvent.create({
    data: { id: newId('evt'), userId, kind, at: new Date(), ip: origin.ip, userAgent, detail },
  });
}
