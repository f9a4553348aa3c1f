// Compares the log of webhooks that GitHub sent with the stored deliveries, and stores what did not arrive.
// Invariant: no transaction is held while GitHub answers, and a crash at any point repeats only reads.
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import type { GithubAppKey } from '../github/index.ts';
import type { OrganizationCtx, SystemCtx } from '../kernel/index.ts';
import { type DeliveryLimits, loadDeliveryBudget } from './delivery-budget.ts';
import { mayBeStored, readEvent } from './delivery-events.ts';
import { recordDeliveries } from './record-deliveries.ts';

const intervalMs = 30_000;
/** Attempts to deliver overlap: one that began earlier may be listed later. */
const overlapMs = 10 * 60_000;
/** Maximum number of pages of the log. GitHub keeps three days. */
const pagesMax = 300;
/** Entries of a page that GitHub sends at most. Another server may send more, of which the rest is not read. */
const pageEntriesMax = 100;
const guidLengthMax = 200;
/** Delay of the next read after the organization used up its bytes. */
const overBudgetMs = 60 * 60_000;
/** A server's clock may be ahead by this much. */
const aheadMs = 60_000;

export interface DueApp {
  readonly githubAppId: string;
  readonly organizationId: OrganizationId;
  /** Deliveries that GitHub sent before this time are stored. */
  readonly readUntil: Date;
}

/** Takes the apps whose log is due; another worker takes others. `busy`: organizations to leave out. */
export async function claimDeliveryLogs(
  { tx, clock }: Pick<SystemCtx, 'tx' | 'clock'>,
  busy: readonly string[],
): Promise<readonly DueApp[]> {
  const now = clock.now();
  const rows = await tx.$queryRaw<{ id: string; organizationId: string; readUntil: Date }[]>`
    UPDATE github_app SET deliveries_due_at = ${new Date(now.getTime() + intervalMs)}
    WHERE id IN (SELECT id FROM github_app WHERE deliveries_due_at <= ${now}
      AND organization_id <> ALL (${[...busy]}::text[]) ORDER BY id FOR UPDATE SKIP LOCKED)
    RETURNING id, organization_id AS "organizationId", coalesce(deliveries_read_until, created_at) AS "readUntil"`;
  return rows.map(({ id, organizationId, readUntil }) => ({
    githubAppId: id,
    organizationId: parseId('org', organizationId),
    readUntil,
  }));
}

interface SentDelivery {
  readonly deliveryId: number;
  readonly guid: string;
  readonly event: string;
  readonly action: string | null;
  readonly deliveredAt: Date;
}

/** Calls of GitHub that recovery needs. */
export interface DeliveryLog {
  listDeliveries(
    key: GithubAppKey,
    cursor: string | null,
  ): Promise<{ readonly items: readonly SentDelivery[]; readonly next: string | null }>;
  getDeliveryPayload(key: GithubAppKey, deliveryId: number): Promise<string>;
}

export interface RecoverParts {
  readonly github: DeliveryLog;
  readonly key: GithubAppKey;
  /** Each runs in a transaction of its own. */
  readonly tenant: <T>(work: (ctx: OrganizationCtx) => Promise<T>) => Promise<T>;
  readonly system: <T>(work: (ctx: Pick<SystemCtx, 'tx' | 'clock'>) => Promise<T>) => Promise<T>;
  /** Bytes that the organization may store within a day. Without them, the product's own limits. */
  readonly limits?: DeliveryLimits;
}

/** Returns the number of deliveries that were stored. Throws the error of GitHub; a later run continues. */
export async function recoverDeliveries(parts: RecoverParts, app: DueApp): Promise<number> {
  const { github, key, tenant, system, limits } = parts;
  const { githubAppId, organizationId } = app;
  const { missed, newest } = await listMissed(parts, app);
  let recovered = 0;
  const budget = await system((ctx) => loadDeliveryBudget(ctx, organizationId, limits));
  // Oldest first, as they would have arrived.
  for (const { deliveryId, guid, event } of [...missed.values()].toReversed()) {
    const body = await github.getDeliveryPayload(key, deliveryId);
    const reading = readEvent({ source: 'github', event, body });
    if (reading.state !== 'stored') continue;
    const place = { organizationId, source: 'github', endpointId: githubAppId, deliveryKey: guid } as const;
    const delivery = { ...place, event: reading.name, body, isRecovered: true };
    if (!budget.take(delivery)) {
      // GitHub keeps the rest for three days, and limits how often it may be asked.
      await tenant((ctx) => deferDeliveryLog(ctx, githubAppId, new Date(ctx.clock.now().getTime() + overBudgetMs)));
      return recovered;
    }
    const [stored] = await system((ctx) => recordDeliveries(ctx, [delivery]));
    if (stored?.deliveryId !== null) recovered += 1;
  }
  if (newest !== null) await tenant((ctx) => recordReadUntil(ctx, githubAppId, newest));
  return recovered;
}

/** Delays the next read of the log, because GitHub limits the rate of requests. */
export async function deferDeliveryLog({ tx, organizationId }: OrganizationCtx, githubAppId: string, at: Date) {
  await tx.githubApp.updateMany({ where: { id: githubAppId, organizationId }, data: { deliveriesDueAt: at } });
}

interface Missed {
  /** One attempt of each webhook that is not stored, by its guid. The newest first. */
  readonly missed: ReadonlyMap<string, SentDelivery>;
  readonly newest: Date | null;
}

/** Keeps only what is missing of a page, because the server may be anybody's and send pages without an end. */
async function listMissed({ github, key, tenant }: RecoverParts, app: DueApp): Promise<Missed> {
  const missed = new Map<string, SentDelivery>();
  let newest: Date | null = null;
  let cursor: string | null = null;
  for (let page = 1; page <= pagesMax; page += 1) {
    const { items, next }: Awaited<ReturnType<DeliveryLog['listDeliveries']>> = await github.listDeliveries(
      key,
      cursor,
    );
    const entries = items.slice(0, pageEntriesMax);
    const sent = entries.filter(({ deliveredAt }) => deliveredAt >= app.readUntil);
    for (const each of await tenant((ctx) => withoutStored(ctx, app.githubAppId, sent))) missed.set(each.guid, each);
    newest ??= sent[0]?.deliveredAt ?? null;
    const last = entries.at(-1);
    if (next === null || last === undefined || last.deliveredAt < app.readUntil) break;
    cursor = next;
  }
  return { missed, newest };
}

async function withoutStored(
  { tx, organizationId, clock }: OrganizationCtx,
  endpointId: string,
  sent: readonly SentDelivery[],
): Promise<readonly SentDelivery[]> {
  const latest = clock.now().getTime() + aheadMs;
  const wanted = sent.filter(
    ({ guid, event, action, deliveredAt }) =>
      guid.length <= guidLengthMax && deliveredAt.getTime() <= latest && mayBeStored(event, action),
  );
  if (wanted.length === 0) return [];
  const stored = await tx.webhookDelivery.findMany({
    where: { organizationId, endpointId, deliveryKey: { in: wanted.map(({ guid }) => guid) } },
    select: { deliveryKey: true },
  });
  const known = new Set(stored.map(({ deliveryKey }) => deliveryKey));
  return wanted.filter(({ guid }) => !known.has(guid));
}

async function recordReadUntil({ tx, organizationId, clock }: OrganizationCtx, githubAppId: string, newest: Date) {
  await tx.githubApp.updateMany({
    where: { id: githubAppId, organizationId },
    data: { deliveriesReadUntil: new Date(Math.min(newest.getTime(), clock.now().getTime()) - overlapMs) },
  });
}
