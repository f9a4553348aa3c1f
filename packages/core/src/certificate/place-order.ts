// Places one order: chooses challenge, account and server, within the budgets of the organization.
import { challengeLabel, challengeName } from '../host/index.ts';
import { notifyChange, type OrganizationCtx } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import { findOrCreateAccount, replaceAccount } from './accounts.ts';
import { countOrder, findHold } from './budget.ts';
import { recordEvent } from './history.ts';
import type { HostFacts, ProofPlace } from './host-facts.ts';
import { createKey } from './keys.ts';
import { type Challenge, chooseChallenge, nextAttemptAt, validatedName } from './rules.ts';
import { bumpServersOfHost, type HostServer } from './store.ts';

/** Pause of a host that no challenge can prove; a new DNS provider ends it. */
const blockedPause = 6;

export interface AcmeConfig {
  readonly directoryUrl: string;
  /** True if the authority wants accounts to be bound to one that it knows already (EAB). */
  readonly bindsAccounts?: boolean;
}

export interface DueCertificate {
  readonly id: string;
  readonly host: string;
  readonly attempt: number;
  readonly accountId: string;
  readonly challenge: Challenge;
  readonly keyId: string | null;
  readonly failureCode: string | null;
  readonly failedAt: Date | null;
  /** Servers that don't answer its challenges yet. */
  readonly unreadyServers: unknown;
}

interface OrderPlan {
  readonly servers: readonly HostServer[];
  readonly config: AcmeConfig;
  /** Place of a proof by DNS; null: no DNS provider has its zone. */
  readonly place: ProofPlace | null;
  readonly facts: HostFacts;
}

/** Pause of a host whose CAA records are in the way; the check that finds others ends it. */
const caaPause = 4;

/** Returns false if the order can't be placed now; the certificate then has the reason and its next time. */
export async function placeOrder(
  ctx: OrganizationCtx,
  keys: SecretKeys,
  certificate: DueCertificate,
  { servers, config, place, facts }: OrderPlan,
): Promise<boolean> {
  const { tx, organizationId } = ctx;
  const { id, host, attempt, keyId, failureCode, failedAt } = certificate;
  const { directoryUrl } = config;
  if (facts.caa !== null) {
    const { name, issuers } = facts.caa;
    await hold(ctx, certificate, {
      code: 'certificate.caa',
      message: `The CAA records of ${name} allow ${issuers.join(', ') || 'no authority'}, but not the one of this control plane. Add a CAA record for it, or remove the restriction. Nothing is ordered until then.`,
      until: nextAttemptAt(caaPause, null, ctx.clock.now()),
    });
    return false;
  }
  const canProve = servers.some((server) => server.canProve);
  const challenge = chooseChallenge({ host, zone: place, canProve, last: certificate.challenge, failureCode });
  if (challenge === null) {
    await hold(ctx, certificate, {
      code: 'certificate.no_dns_provider',
      message:
        place === null
          ? missingZone(host, facts.challengeAlias)
          : "The agents of this app can't verify names by DNS yet. Upgrade them.",
      until: nextAttemptAt(blockedPause, null, ctx.clock.now()),
    });
    return false;
  }
  if (failureCode === 'certificate.account_revoked' && failedAt !== null) {
    await replaceAccount(ctx, keys, { id: certificate.accountId, refusedAt: failedAt });
  }
  // Follows a change of the directory: the next order is at the new authority.
  const account = await findOrCreateAccount(ctx, keys, directoryUrl);
  if (config.bindsAccounts === true && !account.isRegistered) {
    await tx.certificate.update({ where: { id, organizationId }, data: { accountId: account.id } });
    return false;
  }
  const count = { host, directoryUrl, renewal: keyId !== null };
  const budget = await findHold(ctx, count);
  if (budget !== null) {
    await hold(ctx, certificate, { code: 'certificate.rate_limited', ...budget });
    return false;
  }
  const needsProof = challenge !== 'http-01';
  const server = servers.find((one) => (needsProof ? one.canProve : one.canServe));
  if (server === undefined) return false;
  const key = await createKey(ctx, keys);
  const now = ctx.clock.now();
  const order = { attempt: attempt + 1, orderServerId: server.id, orderKeyId: key.id, orderedAt: now };
  await tx.certificate.update({
    where: { id, organizationId },
    data: { ...order, accountId: account.id, challenge, proofs: [], step: null, nextAttemptAt: null },
  });
  await recordEvent(ctx, { certificateId: id }, { kind: 'ordered' });
  await countOrder(ctx, count);
  const versions = await bumpServersOfHost(ctx, host);
  if (!needsProof) {
    // The order starts once every other server that can be reached answers its challenges too.
    const others = servers.filter((other) => other.id !== server.id && other.canServe);
    const unreadyServers = Object.fromEntries(others.map((other) => [other.id, versions[other.id] ?? 0]));
    await tx.certificate.update({ where: { id, organizationId }, data: { unreadyServers, respondersSince: now } });
  }
  await notifyChange(ctx, { kind: 'certificate', id });
  return true;
}

function missingZone(host: string, alias: string | null): string {
  const proof = challengeName(host);
  if (alias === null)
    return `A certificate for ${host} needs a DNS provider with a zone of ${validatedName(host)}. Add one under Settings, DNS providers.`;
  if (alias.startsWith(`${challengeLabel}.`))
    return `${proof} is an alias of ${alias}, which verifies another name. Point the alias at a name that does not begin with ${challengeLabel}.`;
  return `${proof} is an alias of ${alias}, but no DNS provider has a zone of that name. Add one under Settings, DNS providers.`;
}

/** Notes why a certificate is not ordered, and until when. It is no failed order: the pauses do not grow. */
async function hold(
  ctx: OrganizationCtx,
  { id }: DueCertificate,
  { code, message, until }: { readonly code: string; readonly message: string; readonly until: Date },
): Promise<void> {
  await ctx.tx.certificate.update({
    where: { id, organizationId: ctx.organizationId },
    data: { failureCode: code, failureMessage: message, failedAt: ctx.clock.now(), nextAttemptAt: until },
  });
  await notifyChange(ctx, { kind: 'certificate', id });
}
