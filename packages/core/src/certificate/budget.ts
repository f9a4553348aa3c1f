// Budgets of orders, shared by all hosts of an organization. They are the published limits of Let's Encrypt, so that an order
// which its authority would refuse is not placed: refused ones count there too.
import { newId } from '@fairlead/contract/ids';
import { getDomain } from 'tldts';
import type { OrganizationCtx } from '../kernel/index.ts';
import { validatedName } from './rules.ts';

const hourMs = 3_600_000;
const weekMs = 7 * 24 * hourMs;

/** Orders are kept for as long as a budget counts them, and a day more. */
const keepMs = weekMs + 24 * hourMs;

/** Failures for which an authority tried to validate the host. */
const validationFailures = [
  'certificate.unreachable',
  'certificate.dns',
  'certificate.wrong_answer',
  'certificate.caa',
] as const;

const budgets = {
  orders: { max: 300, windowMs: 3 * hourMs, words: '300 new orders in three hours' },
  domain: { max: 50, windowMs: weekMs, words: '50 certificates for this registered domain in a week' },
  host: { max: 5, windowMs: weekMs, words: '5 new certificates for this name in a week' },
  failures: { max: 5, windowMs: hourMs, words: '5 failed validations of this name in an hour' },
} as const;

/** Returns the name by which authorities limit certificates: one label below a public suffix. */
function registeredDomainOf(host: string): string {
  const name = validatedName(host);
  return getDomain(name, { allowPrivateDomains: true }) ?? name;
}

export interface BudgetHold {
  readonly until: Date;
  /** Sentence for users. */
  readonly message: string;
}

export interface OrderToCount {
  readonly host: string;
  readonly directoryUrl: string;
  /** True if it replaces a certificate: authorities don't count those against new ones. */
  readonly renewal: boolean;
}

/** Returns until when the order must wait; null if it may be placed now. */
export async function findHold(ctx: OrganizationCtx, order: OrderToCount): Promise<BudgetHold | null> {
  const { host, directoryUrl, renewal } = order;
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  const registeredDomain = registeredDomainOf(host);
  const limited = await tx.acmeOrder.findFirst({
    where: { organizationId, directoryUrl, registeredDomain, limitedUntil: { gt: now } },
    orderBy: { limitedUntil: 'desc' },
    select: { limitedUntil: true },
  });
  if (limited?.limitedUntil) {
    const message = `The authority limits orders for ${registeredDomain} until ${timeOf(limited.limitedUntil)}.`;
    return { until: limited.limitedUntil, message };
  }
  const own = { organizationId, directoryUrl };
  const counted = [
    { budget: budgets.failures, where: { ...own, host, outcome: { in: [...validationFailures] } } },
    ...(renewal
      ? []
      : [
          { budget: budgets.orders, where: { ...own, renewal: false } },
          { budget: budgets.domain, where: { ...own, renewal: false, registeredDomain, outcome: 'issued' } },
          { budget: budgets.host, where: { ...own, renewal: false, host, outcome: 'issued' } },
        ]),
  ];
  for (const { budget, where } of counted) {
    // The order that leaves the window next, if the budget is used up.
    const last = await tx.acmeOrder.findFirst({
      where: { ...where, orderedAt: { gt: new Date(now.getTime() - budget.windowMs) } },
      orderBy: { orderedAt: 'desc' },
      skip: budget.max - 1,
      select: { orderedAt: true },
    });
    if (last === null) continue;
    const until = new Date(last.orderedAt.getTime() + budget.windowMs);
    return {
      until,
      message: `The rate limit of the authority is used up: ${budget.words}. The next order is at ${timeOf(until)}.`,
    };
  }
  return null;
}

export async function countOrder(ctx: OrganizationCtx, { host, directoryUrl, renewal }: OrderToCount): Promise<void> {
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  await tx.acmeOrder.create({
    data: {
      id: newId('aco'),
      organizationId,
      directoryUrl,
      host,
      registeredDomain: registeredDomainOf(host),
      renewal,
      orderedAt: now,
    },
  });
  await tx.acmeOrder.deleteMany({ where: { organizationId, orderedAt: { lt: new Date(now.getTime() - keepMs) } } });
}

/** Notes how the running order of a host ended: `issued`, or the code of its failure. */
export async function recordOutcome(
  ctx: OrganizationCtx,
  host: string,
  outcome: string,
  limitedUntil: Date | null = null,
): Promise<void> {
  await ctx.tx.acmeOrder.updateMany({
    where: { organizationId: ctx.organizationId, host, outcome: null },
    data: { outcome, endedAt: ctx.clock.now(), limitedUntil },
  });
}

/** Returns a time for a sentence, in UTC. */
export function timeOf(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
