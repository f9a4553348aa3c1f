// Actions of a signed-in person on their own account, and the links in mails. Independent of transport: the API's
// procedures call it, each with its own input and output schema.
import { AppError } from '@fairlead/contract/errors';
import { closeAccess, dropFactorsAndDevices, setPassword } from './account-access.ts';
import { type AccountEventKind, recordEvent } from './account-event.ts';
import { dropEmailChange, dropLinks, makeLink, spendLink } from './account-link.ts';
import { confirmSecondFactor } from './confirm-second-factor.ts';
import type { Session } from './create-auth.ts';
import { deviceName } from './device-name.ts';
import { requireFactorChange, requireProvenFactor } from './factor-proof.ts';
import { completeGithubLink, listGithubAccounts, removeGithubLink, startGithubLink } from './github-account.ts';
import { type Internals, noteChange, originOf, pageUrl, sendLater } from './internals.ts';
import { emailChangedMail, resetMail, verifyMail } from './mails.ts';
import { listPasskeys, type PasskeyView, removePasskey, renamePasskey } from './passkeys.ts';
import { verifyPassword } from './password.ts';
import { countRecoveryCodes } from './recovery-codes.ts';
import { findRestorable, isReserved, makeRestoreLink, restoreAccount } from './restore-account.ts';
import { guesserOf } from './sign-in.ts';
import {
  beginTwoFactor,
  confirmTwoFactor,
  disableTwoFactor,
  rotateRecoveryCodes,
  type TwoFactorSetup,
} from './two-factor.ts';

export interface AccountView {
  readonly name: string;
  readonly email: string;
  /** Null: the browser's. */
  readonly locale: string | null;
  readonly timeZone: string | null;
  readonly isEmailVerified: boolean;
  /** True for an authenticator app; passkeys are listed below. */
  readonly hasSecondFactor: boolean;
  readonly recoveryCodesLeft: number;
  /** True if this control plane can send mail. */
  readonly canMail: boolean;
  readonly passkeys: readonly PasskeyView[];
}

/** Fields that a person changes without a proof; null: the browser's. */
interface AccountFields {
  readonly name?: string | undefined;
  readonly locale?: string | null | undefined;
  readonly timeZone?: string | null | undefined;
}

export interface SessionView {
  readonly id: string;
  readonly device: string;
  readonly ip: string | null;
  readonly createdAt: Date;
  readonly lastUsedAt: Date;
  readonly isThis: boolean;
}

export interface AccountEventView {
  readonly id: string;
  readonly kind: string;
  readonly at: Date;
  readonly ip: string | null;
  readonly device: string;
  readonly detail: string | null;
}

/** A signed-in person, with the headers of their request. */
export interface Caller {
  readonly session: Session;
  readonly headers: Headers;
}

export type Account = ReturnType<typeof createAccountActions>;

const eventsShown = 50;
const hourMs = 60 * 60_000;
const mailsMax = { toAddress: 3, fromAddress: 20 };

export function createAccountActions(internals: Internals) {
  const { client, limit, options } = internals;

  return {
    /** True if this control plane can send mail. */
    canMail: options.mail !== null,

    get: async ({ session }: Caller): Promise<AccountView> => {
      const user = await client().user.findUniqueOrThrow({ where: { id: session.user.id } });
      return {
        name: user.name,
        email: user.email,
        locale: user.locale,
        timeZone: user.timeZone,
        isEmailVerified: user.emailVerified,
        hasSecondFactor: user.twoFactorEnabled,
        recoveryCodesLeft: await countRecoveryCodes(internals, user.id),
        canMail: options.mail !== null,
        passkeys: await listPasskeys(internals, user.id),
      };
    },

    /** Changes the given fields. */
    update: async ({ session }: Caller, { name, locale, timeZone }: AccountFields): Promise<void> => {
      const data = {
        ...(name === undefined ? {} : { name }),
        ...(locale === undefined ? {} : { locale }),
        ...(timeZone === undefined ? {} : { timeZone }),
      };
      await client().user.update({ where: { id: session.user.id }, data });
    },

    /** Proves again who sits there. Throws account.password_wrong, request.too_many. */
    confirm: async (caller: Caller, { password }: { password: string }): Promise<void> => {
      await requirePassword(internals, caller, password);
      await client().session.updateMany({ where: { id: caller.session.id }, data: { confirmedAt: new Date() } });
    },

    /** Proves a second factor in this session. Throws session.code_wrong, request.too_many. */
    confirmSecondFactor: (caller: Caller, input: { code: string }) => confirmSecondFactor(internals, caller, input),

    /** Ends every other session. Throws session.second_factor_required, account.password_wrong, request.too_many. */
    updatePassword: async (caller: Caller, { current, next }: { current: string; next: string }): Promise<void> => {
      const { session, headers } = caller;
      await requireProvenFactor(internals, session);
      await requirePassword(internals, caller, current);
      await setPassword(internals, session.user.id, next);
      await client().session.deleteMany({ where: { userId: session.user.id, id: { not: session.id } } });
      await dropLinks(client(), session.user.id);
      await noteChange(internals, session.user.id, 'password_changed', headers);
    },

    listSessions: async ({ session }: Caller): Promise<SessionView[]> => {
      const rows = await client().session.findMany({
        where: { userId: session.user.id, expiresAt: { gt: new Date() } },
        orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
      });
      return rows.map((row) => ({
        id: row.id,
        device: deviceName(row.userAgent),
        ip: row.ipAddress === '' ? null : row.ipAddress,
        createdAt: row.createdAt,
        lastUsedAt: row.lastUsedAt ?? row.createdAt,
        isThis: row.id === session.id,
      }));
    },

    revokeSession: async ({ session, headers }: Caller, { sessionId }: { sessionId: string }): Promise<void> => {
      const where = { id: sessionId, userId: session.user.id };
      const { count } = await client().session.deleteMany({ where });
      if (count === 0) throw new AppError('session.not_found');
      await dropEmailChange(client(), session.user.id);
      await recordEvent(client(), session.user.id, 'session_ended', originOf(internals, headers));
    },

    revokeOtherSessions: async ({ session, headers }: Caller): Promise<number> => {
      const where = { userId: session.user.id, id: { not: session.id } };
      const { count } = await client().session.deleteMany({ where });
      await dropEmailChange(client(), session.user.id);
      await recordEvent(client(), session.user.id, 'signed_out_others', originOf(internals, headers));
      return count;
    },

    listEvents: async ({ session }: Caller): Promise<AccountEventView[]> => {
      const rows = await client().accountEvent.findMany({
        where: { userId: session.user.id },
        orderBy: [{ at: 'desc' }, { id: 'desc' }],
        take: eventsShown,
      });
      return rows.map(({ id, kind, at, ip, userAgent, detail }) => {
        return { id, kind, at, ip, device: deviceName(userAgent), detail };
      });
    },

    renamePasskey: ({ session }: Caller, input: { passkeyId: string; name: string }) =>
      renamePasskey(internals, session, input),
    removePasskey: ({ session, headers }: Caller, input: { passkeyId: string }) =>
      removePasskey(internals, headers, session, input),

    beginTwoFactor: ({ session }: Caller): Promise<TwoFactorSetup> => beginTwoFactor(internals, session),
    confirmTwoFactor: ({ session, headers }: Caller, input: { code: string }) =>
      confirmTwoFactor(internals, headers, session, input),
    rotateRecoveryCodes: ({ session, headers }: Caller) => rotateRecoveryCodes(internals, headers, session),
    disableTwoFactor: ({ session, headers }: Caller) => disableTwoFactor(internals, headers, session),

    listGithubAccounts: (caller: Caller) => listGithubAccounts(internals, caller),
    startGithubLink: (caller: Caller, input: { githubAppId: string }) => startGithubLink(internals, caller, input),
    completeGithubLink: (caller: Caller, input: { state: string; code: string }) =>
      completeGithubLink(internals, caller, input),
    removeGithubLink: (caller: Caller, input: { githubAppId: string }) => removeGithubLink(internals, caller, input),

    /** Reports whether sign-in through GitHub is offered. */
    hasGithubSignIn: async () => ((await options.github?.findSignInClient()) ?? null) !== null,

    /** Throws account.mail_not_set_up, account.mail_failed, request.too_many. */
    sendVerification: async ({ session }: Caller): Promise<void> => {
      const mail = requireMail(internals);
      const { id: userId, email } = session.user;
      if (!(await limit.spend(`mail ${email}`, mailsMax.toAddress, hourMs))) throw new AppError('request.too_many');
      const token = await makeLink(client(), 'verify_email', { userId, email });
      await mail.send(verifyMail(email, pageUrl(internals, `/verify-email#token=${token}`))).catch((error: unknown) => {
        options.onFailure(error, 'a mail of identity was not sent');
        throw new AppError('account.mail_failed', {}, { cause: error });
      });
    },

    /**
     * Changes the address once its mail was confirmed. The answer never reveals if the address already has an account.
     */
    requestEmailChange: async ({ session }: Caller, { email }: { email: string }): Promise<void> => {
      await requireFactorChange(internals, session);
      requireMail(internals);
      const wanted = email.toLowerCase();
      const mayTry =
        (await limit.spend(`mail ${wanted}`, mailsMax.toAddress, hourMs)) &&
        (await limit.spend(`mails of ${session.user.id}`, mailsMax.fromAddress, hourMs));
      if (!mayTry) throw new AppError('request.too_many');
      const token = await makeLink(client(), 'change_email', { userId: session.user.id, email: wanted });
      if ((await client().user.count({ where: { email: wanted } })) > 0) return;
      sendLater(internals, verifyMail(wanted, pageUrl(internals, `/verify-email#token=${token}`)));
    },

    /** Throws account.link_invalid. */
    verifyEmail: async (headers: Headers, { token }: { token: string }): Promise<{ email: string }> => {
      const first = await spendLink(client(), 'verify_email', token);
      if (first !== null) {
        const where = { id: first.userId, email: first.email };
        const { count } = await client().user.updateMany({ where, data: { emailVerified: true } });
        if (count === 0) throw new AppError('account.link_invalid');
        await recordEvent(client(), first.userId, 'email_verified', originOf(internals, headers), first.email);
        return { email: first.email };
      }
      const change = await spendLink(client(), 'change_email', token);
      if (change === null) throw new AppError('account.link_invalid');
      await changeEmail(internals, headers, change.userId, change.email);
      return { email: change.email };
    },

    /**
     * Gives the same answer in the same time for every address. Throws account.mail_not_set_up for all of them or for
     * none.
     */
    requestReset: async (headers: Headers, { email }: { email: string }): Promise<void> => {
      requireMail(internals);
      const wanted = email.toLowerCase();
      const { ip } = originOf(internals, headers);
      if (ip !== null && !(await limit.spend(`mails from ${ip}`, mailsMax.fromAddress, hourMs))) {
        throw new AppError('request.too_many');
      }
      const work = async () => {
        if (!(await limit.spend(`reset ${wanted}`, mailsMax.toAddress, hourMs))) return;
        const user = await client().user.findUnique({ where: { email: wanted }, select: { id: true, email: true } });
        if (user === null) return;
        const token = await makeLink(client(), 'reset_password', { userId: user.id, email: user.email });
        sendLater(internals, resetMail(user.email, pageUrl(internals, `/reset-password#token=${token}`)));
      };
      work().catch((error: unknown) => options.onFailure(error, 'a password reset was not begun'));
    },

    /** Ends all sessions; by a link that restores the account, also every other way in. Throws account.link_invalid. */
    resetPassword: async (
      headers: Headers,
      { token, password }: { token: string; password: string },
    ): Promise<void> => {
      const link = await spendLink(client(), 'reset_password', token);
      if (link === null) return restoreAccount(internals, headers, { token, password });
      const { userId } = link;
      await setPassword(internals, userId, password);
      await client().session.deleteMany({ where: { userId } });
      // Drops a pending change of address as well: another person may have requested it, and its link would hand the
      // account back to them.
      await dropLinks(client(), userId);
      const { email, emailVerified } = await client().user.findUniqueOrThrow({
        where: { id: userId },
        select: { email: true, emailVerified: true },
      });
      // The address was never confirmed, so another person may have made the account and left a way in.
      if (link.email === email && !emailVerified) await dropFactorsAndDevices(internals, userId);
      // The holder of the link holds the mailbox or the server, so strangers' guesses must not lock them out.
      await limit.forgive(email, originOf(internals, headers).ip);
      if (link.email === email) await client().user.update({ where: { id: userId }, data: { emailVerified: true } });
      await noteChange(internals, userId, 'password_reset', headers);
    },

    /** Only for the server's own command line: no procedure may call it. */
    find: async ({ email }: { email: string }): Promise<{ readonly userId: string } | null> => {
      const user = await client().user.findUnique({ where: { email: email.toLowerCase() }, select: { id: true } });
      return user === null ? null : { userId: user.id };
    },

    /** Only for the server's own command line: returns the path of a page that sets a new password, once. */
    recover: async (input: {
      readonly userId: string;
      readonly removeSecondFactors: boolean;
    }): Promise<{ readonly path: string }> => {
      const { userId } = input;
      // The server's operator decides who owns the account, so this withdraws every older link.
      await client().accountLink.deleteMany({ where: { userId } });
      if (input.removeSecondFactors) await client().$transaction((tx) => closeAccess(tx, userId));
      // A thief may know the password: what they add before the link is used goes with it.
      const purpose = input.removeSecondFactors ? 'restore_account' : 'reset_password';
      const token = await makeLink(client(), purpose, { userId, email: '' });
      const detail = input.removeSecondFactors ? 'passkeys, authenticator app and recovery codes removed' : null;
      await recordEvent(client(), userId, 'recovered_on_server', { ip: null, userAgent: null }, detail);
      return { path: `/reset-password#token=${token}` };
    },
  };
}

function requireMail({ options }: Internals) {
  if (options.mail === null) throw new AppError('account.mail_not_set_up');
  return options.mail;
}

async function requirePassword(internals: Internals, { session, headers }: Caller, password: string): Promise<void> {
  const { client, limit } = internals;
  const { id: userId, email } = session.user;
  // Guesses of a session count separately, so that a stranger's guesses never keep it from confirming.
  const { deviceId, address } = await guesserOf(internals, headers, email, userId);
  const guesser = { account: email, deviceId: deviceId ?? session.id, address };
  if (!(await limit.begin(guesser))) throw new AppError('request.too_many');
  const where = { userId, providerId: 'credential' };
  const account = await client().account.findFirst({ where, select: { password: true } });
  const hash = account?.password;
  if (typeof hash !== 'string' || !(await verifyPassword({ hash, password })))
    throw new AppError('account.password_wrong');
  await limit.succeed(guesser);
}

async function changeEmail(internals: Internals, headers: Headers, userId: string, email: string): Promise<void> {
  const { client } = internals;
  const before = await client().user.findUniqueOrThrow({ where: { id: userId }, select: { email: true } });
  const taken = await client().user.count({ where: { email, id: { not: userId } } });
  if (taken > 0 || (await isReserved(internals, email, userId))) throw new AppError('account.link_invalid');
  // Before the address changes: from then on a first factor could send the thief the only link.
  const restorable = await findRestorable(internals, userId);
  const restoreUrl = restorable === null ? null : await makeRestoreLink(internals, restorable);
  await client().user.update({ where: { id: userId }, data: { email, emailVerified: true } });
  // A link to the address that was must not open the account any more, but for one that undoes this.
  await dropLinks(client(), userId);
  const kind: AccountEventKind = 'email_changed';
  await recordEvent(client(), userId, kind, originOf(internals, headers), `${before.email} → ${email}`);
  sendLater(internals, emailChangedMail(before.email, restoreUrl));
}
