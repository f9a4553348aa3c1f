// Lists the certificates of an organization, page by page: ordered ones, uploads, and those of local names.
import { Prisma } from '@fairlead/db';
import { type CountedPage, type Ctx, toPage } from '../kernel/index.ts';
import { isReached, type Reach, wholeReach } from '../role/index.ts';
import { type EntryKey, loadEntries } from './load-entries.ts';
import type { CertificateEntry, ListCertificatesInput } from './schema.ts';
import { coversSql } from './uploads.ts';

/** An upload needs attention this long before it expires. */
const attentionBeforeMs = 14 * 24 * 3_600_000;

/** Length of the part of a name that a cursor holds. */
const cursorNameLength = 100;

/**
 * Lists certificates by name. `reach`: scopes where the caller may read domains; uploads need all of them. `ids`: those
 * of `attention`, which the caller finds.
 */
export async function listCertificates(
  ctx: Ctx,
  { search = '', state, cursor, limit }: ListCertificatesInput,
  reach: Reach = wholeReach,
  ids?: readonly string[],
): Promise<CountedPage<CertificateEntry>> {
  const [cursorName, cursorId] = (cursor ?? ' ').split(' ');
  const conditions = [
    ...(search === '' ? [] : [Prisma.sql`search LIKE ${`%${search.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`}`]),
    ...(state === undefined ? [] : [state === 'attention' ? Prisma.sql`attention` : Prisma.sql`state = ${state}`]),
    ...(ids === undefined ? [] : [Prisma.sql`id = ANY(${[...ids]}::text[])`]),
  ];
  const isFirst = cursorId === undefined || cursorId === '';
  const beyond = isFirst ? [] : [Prisma.sql`(name, id) > (${cursorName}, ${cursorId})`];
  const rows = await ctx.tx.$queryRaw<(EntryKey & { readonly name: string })[]>`
    SELECT id, source, state, name FROM (${entriesSql(ctx, reach)}) AS entry ${whereOf([...conditions, ...beyond])}
    ORDER BY name, id LIMIT ${limit + 1}`;
  const page = toPage(
    rows,
    limit,
    ({ name, id }) => `${name} ${id}`,
    (row) => row,
  );
  const items = await loadEntries(ctx, page.items, reach);
  if (!isFirst) return { ...page, items, total: null };
  const [counted] = await ctx.tx.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM (${entriesSql(ctx, reach)}) AS entry ${whereOf(conditions)}`;
  return { ...page, items, total: counted?.count ?? 0 };
}

function whereOf(conditions: readonly Prisma.Sql[]): Prisma.Sql {
  return conditions.length === 0 ? Prisma.empty : Prisma.sql`WHERE ${Prisma.join([...conditions], ' AND ')}`;
}

/** Returns the columns id, source, state, name, search and attention of every certificate that the caller may see. */
export function entriesSql({ organizationId, clock }: Ctx, reach: Reach): Prisma.Sql {
  const now = clock.now();
  const place = {
    projectId: Prisma.sql`environment.project_id`,
    environmentId: Prisma.sql`domain.environment_id`,
  };
  const isUnused = Prisma.sql`EXISTS (SELECT 1 FROM uploaded_certificate AS upload WHERE upload.not_after > ${now}
    AND upload.organization_id = certificate.organization_id
    AND ${coversSql(Prisma.sql`upload.names`, Prisma.sql`certificate.host`)})
    AND NOT EXISTS (SELECT 1 FROM dashboard_domain AS own
      WHERE own.organization_id = certificate.organization_id AND own.host = certificate.host)`;
  return Prisma.sql`
    WITH reached AS (
      SELECT host, min(domain.id) AS id FROM domain JOIN environment ON environment.id = domain.environment_id
      WHERE domain.organization_id = ${organizationId} AND ${isReached(reach, place)} GROUP BY host
      UNION ALL SELECT host, id FROM dashboard_domain WHERE organization_id = ${organizationId} AND ${reach.everywhere}
    ), names AS (
      SELECT host FROM reached
      UNION SELECT '*' || substr(reached.host, strpos(reached.host, '.')) FROM reached
      JOIN domain USING (host) WHERE domain.organization_id = ${organizationId} AND domain.automatic
    ), ordered AS (
      SELECT certificate.*, ${isUnused} AS is_unused FROM certificate JOIN names USING (host)
      WHERE certificate.organization_id = ${organizationId}
    )
    SELECT id, 'acme' AS source, left(host, ${cursorNameLength}) COLLATE "C" AS name, host AS search,
      CASE WHEN is_unused THEN 'unused' WHEN not_after > ${now} THEN 'issued'
        WHEN order_server_id IS NOT NULL THEN 'ordering' WHEN not_after IS NOT NULL THEN 'expired'
        WHEN failed_at IS NULL THEN 'waiting' ELSE 'failed' END AS state,
      NOT is_unused AND (failed_at IS NOT NULL OR coalesce(not_after <= ${now}, false)) AS attention
    FROM ordered
    UNION ALL
    SELECT id, 'upload', left(names[1], ${cursorNameLength}), array_to_string(names, ' '),
      CASE WHEN not_after > ${now} THEN 'issued' ELSE 'expired' END,
      not_after <= ${new Date(now.getTime() + attentionBeforeMs)}
    FROM uploaded_certificate WHERE organization_id = ${organizationId} AND ${reach.everywhere}
    UNION ALL
    SELECT id, 'local', left(host, ${cursorNameLength}), host, 'issued', false
    FROM reached WHERE host = 'localhost' OR host LIKE '%.localhost'`;
}
