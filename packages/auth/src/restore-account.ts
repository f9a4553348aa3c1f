// Restores an account that a stranger may have taken over while it had no factor, by a link in a mail to its confirmed
// address or from the server's command line.
// Invariant: no action of a signed-in person withdraws the link.
import { AppError } from '@fairlead/contract/errors';
import { closeAccess } from './account-access.ts';
import { recordEvent } from './account-event.ts';
import { isOpenLink, makeLink, type SpentLink, spendLink } from './account-link.ts';
import { hasFactor } from './factor-proof.ts';
import { type Internals, noteChange, originOf, pageUrl, sendLater } from './internals.ts';
import { firstFactorMail, type NoticedChange } from './mails.ts';
import { hashPassword } from './password.ts';

/** Enough that a thief's further links don't matter, few enough that they fill no table. */
const openLinksMax = 10;

/** Returns where a restore link may go: the confirmed address of an account without a factor. Ask before the change. */
export async function findRestorable(internals: Internals, userId: string): Promise<SpentLink | null> {
  if (internals.options.mail === null || (await hasFactor(internals, userId))) return null;
  const user = await internals.client().user.findUnique({
    where: { id: userId },
    select: { email: true, emailVerified: true },
  });
  return user?.emailVerified === true ? { userId, email: user.email } : null;
}

/** Returns the link's address; null while an earlier one goes to another address, which stands above this one. */
export async function makeRestoreLink(internals: Internals, restorable: SpentLink): Promise<string | null> {
  const { client } = internals;
  const { userId, email } = restorable;
  const where = { userId, purpose: 'restore_account', expiresAt: { gt: new Date() } };
  const open = await client().accountLink.findMany({ where, select: { email: true } });
  if (open.length >= openLinksMax || open.some((link) => link.email !== email)) return null;
  const token = await makeLink(client(), 'restore_account', restorable);
  return pageUrl(internals, `/restore-account#token=${token}`);
}

/**
 * Records an added factor and reports it by mail; `restorable` is the result of `findRestorable` before it was added.
 */
export async function noteAddedFactor(
  internals: Internals,
  { userId, restorable, headers }: { userId: string; restorable: SpentLink | null; headers: Headers },
  change: NoticedChange,
  detail: string | null = null,
): Promise<void> {
  const restoreUrl = restorable === null ? null : await makeRestoreLink(internals, restorable);
  if (restorable === null || restoreUrl === null) return noteChange(internals, userId, change, headers, detail);
  await recordEvent(internals.client(), userId, change, originOf(internals, headers), detail);
  sendLater(internals, firstFactorMail(restorable.email, change, restoreUrl));
}

/** Reports whether an open link would give the address back to another account. */
export async function isReserved({ client }: Internals, email: string, userId: string | null): Promise<boolean> {
  const where = { email, purpose: 'restore_account', expiresAt: { gt: new Date() } };
  const links = await client().accountLink.findMany({ where, select: { userId: true } });
  return links.some((link) => link.userId !== userId);
}

/**
 * Gives the account back to the address that the link went to, if it went to one. Sets the password, removes all factors and
 * known devices, ends all sessions and links. Throws account.link_invalid.
 */
export async function restoreAccount(
  internals: Internals,
  headers: Headers,
  { token, password }: { readonly token: string; readonly password: string },
): Promise<void> {
  const { client, limit } = internals;
  if (!(await isOpenLink(client(), 'restore_account', token))) throw new AppError('account.link_invalid');
  const hash = await hashPassword(password);
  const { userId, email } = await client().$transaction(async (tx) => {
    const link = await spendLink(tx, 'restore_account', token);
    if (link === null) throw new AppError('account.link_invalid');
    const where = { userId: link.userId, providerId: 'credential' };
    await tx.account.updateMany({ where, data: { password: hash } });
    const user = await tx.user.update({
      where: { id: link.userId },
      data: link.email === '' ? {} : { email: link.email, emailVerified: true },
      select: { email: true },
    });
    await closeAccess(tx, link.userId);
    return { userId: link.userId, email: user.email };
  });
  await limit.forgive(email, originOf(internals, headers).ip);
  await noteChange(internals, userId, 'account_restored', headers);
}
