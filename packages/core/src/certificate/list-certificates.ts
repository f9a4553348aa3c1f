// Lists the certificates of public hosts, page by page.
import { parseId } from '@fairlead/contract/ids';
import { type Ctx, type Page, toPage } from '../kernel/index.ts';
import { type Reach, whereReached, wholeReach } from '../role/index.ts';
import {
  type CertificateState,
  type CertificateView,
  certificateSchema,
  type ListCertificatesInput,
} from './schema.ts';

/** Lists certificates by host. `reach`: scopes where the caller may read domains. */
export async function listCertificates(
  ctx: Ctx,
  { search, cursor, limit }: ListCertificatesInput,
  reach: Reach = wholeReach,
): Promise<Page<CertificateView>> {
  const { tx, organizationId } = ctx;
  const domains = await tx.domain.findMany({
    where: {
      organizationId,
      environment: whereReached(reach),
      host: {
        ...(search === undefined || search === '' ? {} : { contains: search.toLowerCase() }),
        ...(cursor === null || cursor === undefined ? {} : { gt: cursor }),
      },
    },
    distinct: ['host'],
    select: { host: true },
  });
  const rows = await tx.certificate.findMany({
    where: { organizationId, host: { in: domains.map(({ host }) => host) } },
    orderBy: { host: 'asc' },
    take: limit + 1,
  });
  return toPage(
    rows,
    limit,
    ({ host }) => host,
    (row) => certificateView(row, ctx.clock.now()),
  );
}

type Row = NonNullable<Awaited<ReturnType<Ctx['tx']['certificate']['findFirst']>>>;

export function certificateView(row: Row, now: Date): CertificateView {
  const { failureCode, failureMessage, failedAt } = row;
  return {
    id: parseId('crt', row.id),
    host: row.host,
    state: stateOf(row, now),
    issuer: row.issuer,
    notAfter: row.notAfter,
    renewAt: row.renewAt,
    step: certificateSchema.shape.step.parse(row.step),
    failure:
      failureCode === null || failureMessage === null || failedAt === null
        ? null
        : { code: failureCode, message: failureMessage, failedAt },
    nextAttemptAt: row.orderServerId === null && failedAt !== null ? row.nextAttemptAt : null,
  };
}

function stateOf({ notAfter, orderServerId, failedAt }: Row, now: Date): CertificateState {
  if (notAfter !== null && notAfter > now) return 'issued';
  if (orderServerId !== null) return 'ordering';
  if (notAfter !== null) return 'expired';
  return failedAt === null ? 'waiting' : 'failed';
}
