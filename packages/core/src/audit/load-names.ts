// Finds the names of the things that audit events refer to by id.
import { Prisma } from '@fairlead/db';
import type { Ctx } from '../kernel/index.ts';

/** Prefix of an id → query of its row's name. Row-level security and `organization_id` keep other organizations out. */
const sources: Readonly<Record<string, (ctx: Ctx, ids: string[]) => Prisma.Sql>> = {
  app: ({ organizationId }, ids) =>
    Prisma.sql`SELECT id, name FROM app WHERE organization_id = ${organizationId} AND id = ANY(${ids})`,
  env: ({ organizationId }, ids) =>
    Prisma.sql`SELECT id, name FROM environment WHERE organization_id = ${organizationId} AND id = ANY(${ids})`,
  prj: ({ organizationId }, ids) =>
    Prisma.sql`SELECT id, name FROM project WHERE organization_id = ${organizationId} AND id = ANY(${ids})`,
  srv: ({ organizationId }, ids) =>
    Prisma.sql`SELECT id, name FROM server WHERE organization_id = ${organizationId} AND id = ANY(${ids})`,
  rol: ({ organizationId }, ids) =>
    Prisma.sql`SELECT id, name FROM custom_role WHERE organization_id = ${organizationId} AND id = ANY(${ids})`,
  rel: ({ organizationId }, ids) =>
    Prisma.sql`SELECT id, 'release ' || number FROM release WHERE organization_id = ${organizationId} AND id = ANY(${ids})`,
  dom: ({ organizationId }, ids) =>
    Prisma.sql`SELECT id, host FROM domain WHERE organization_id = ${organizationId} AND id = ANY(${ids})`,
};

/** Returns the names of those that still exist, in one query. Texts that are no ids are ignored. */
export async function loadNames(ctx: Ctx, texts: readonly string[]): Promise<Map<string, string>> {
  const ids = new Set(texts.filter((text) => /^[a-z]{3}_[0-9A-Za-z]{1,64}$/.test(text)));
  const byPrefix = Map.groupBy(ids, (id) => id.slice(0, 3));
  const queries = [...byPrefix].flatMap(([prefix, list]) => sources[prefix]?.(ctx, list) ?? []);
  if (queries.length === 0) return new Map();
  const rows = await ctx.tx.$queryRaw<{ id: string; name: string }[]>`${Prisma.join(queries, ' UNION ALL ')}`;
  return new Map(rows.map(({ id, name }) => [id, name]));
}
