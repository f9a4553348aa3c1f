// Uploaded certificates and the hosts that they serve. A valid one takes precedence over an ordered certificate; an
// expired one serves only hosts that have no other.
// Invariant: no upload serves a host of the dashboard, because members who are not operators can add uploads.
import { Prisma } from '@fairlead/db';
import type { OrganizationCtx } from '../kernel/index.ts';
import { bumpServersOfHost } from './store.ts';

/** Orders start this long before an uploaded certificate ends, so that another one is ready. */
const orderBeforeMs = 24 * 3_600_000;

/** Returns true if a name of a certificate covers a host. A wildcard stands for one label (RFC 9525, 6.3). */
export function covers(name: string, host: string): boolean {
  return name === host || (name.startsWith('*.') && name.slice(2) === parentOf(host));
}

/** The same as `covers`, in SQL, for any name of an array. */
export function coversSql(names: Prisma.Sql, host: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(${host} = ANY(${names}) OR ('*.' || substr(${host}, strpos(${host}, '.') + 1)) = ANY(${names}))`;
}

function parentOf(host: string): string {
  return host.slice(host.indexOf('.') + 1);
}

interface Upload {
  readonly names: readonly string[];
  readonly notAfter: Date;
  readonly createdAt: Date;
}

/** Returns the upload that serves a host: a valid one, with the exact name, and the newest of those. */
export function findUpload<Row extends Upload>(uploads: readonly Row[], host: string, now: Date): Row | null {
  const rank = (upload: Row) => [
    Number(upload.notAfter > now),
    Number(upload.names.includes(host)),
    upload.createdAt.getTime(),
  ];
  const fitting = uploads.filter(({ names }) => names.some((name) => covers(name, host)));
  return fitting.reduce<Row | null>((best, one) => (best === null || isMore(rank(one), rank(best)) ? one : best), null);
}

function isMore(one: readonly number[], other: readonly number[]): boolean {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at !== -1 && (one[at] ?? 0) > (other[at] ?? 0);
}

/** Leaves out the hosts of the dashboard. */
export async function withoutDashboard(
  { tx, organizationId }: OrganizationCtx,
  hosts: readonly string[],
): Promise<string[]> {
  const rows = await tx.dashboardDomain.findMany({ where: { organizationId }, select: { host: true } });
  const own = new Set(rows.map(({ host }) => host));
  return hosts.filter((host) => !own.has(host));
}

/** Returns the upload that serves one host; null: it has none, or is one of the dashboard. */
export async function findUploadOf(ctx: OrganizationCtx, host: string) {
  const { tx, organizationId, clock } = ctx;
  if ((await withoutDashboard(ctx, [host])).length === 0) return null;
  return findUpload(await tx.uploadedCertificate.findMany({ where: { organizationId } }), host, clock.now());
}

/** Returns the hosts that need no order, because an uploaded certificate serves them for longer. */
export async function listUploadedHosts(ctx: OrganizationCtx, hosts: readonly string[]): Promise<string[]> {
  const { tx, organizationId, clock } = ctx;
  const until = new Date(clock.now().getTime() + orderBeforeMs);
  const uploads = await tx.uploadedCertificate.findMany({
    where: { organizationId, notAfter: { gt: until } },
    select: { names: true },
  });
  const open = await withoutDashboard(ctx, hosts);
  return open.filter((host) => uploads.some(({ names }) => names.some((name) => covers(name, host))));
}

/** Gives the hosts of expired uploads back to their ordered certificates. Safe to run twice. */
export async function endExpiredUploads(ctx: OrganizationCtx): Promise<void> {
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  const ended = await tx.uploadedCertificate.findMany({
    where: { organizationId, notAfter: { lte: now }, endedAt: null },
    select: { id: true, names: true },
  });
  for (const { id, names } of ended) {
    await tx.uploadedCertificate.update({ where: { id, organizationId }, data: { endedAt: now } });
    await bumpServersOfNames(ctx, names);
  }
}

/** Gives the servers of every host that the names cover a new version of desired state. */
export async function bumpServersOfNames(ctx: OrganizationCtx, names: readonly string[]): Promise<void> {
  for (const { host } of await listCoveredDomains(ctx, names)) await bumpServersOfHost(ctx, host);
}

/** Returns the names of an ordered or uploaded certificate; none for an unknown one. */
export async function listCertificateNames(
  { tx, organizationId }: OrganizationCtx,
  certificateId: string,
): Promise<readonly string[]> {
  const where = { id: certificateId, organizationId };
  const ordered = await tx.certificate.findFirst({ where, select: { host: true } });
  if (ordered !== null) return [ordered.host];
  return (await tx.uploadedCertificate.findFirst({ where, select: { names: true } }))?.names ?? [];
}

/** Returns the hosts of domains that the names cover, each once. */
export async function listCoveredDomains(
  { tx, organizationId }: OrganizationCtx,
  names: readonly string[],
): Promise<{ host: string }[]> {
  return tx.$queryRaw<{ host: string }[]>`
    SELECT DISTINCT host FROM domain
    WHERE organization_id = ${organizationId} AND ${coversSql(Prisma.sql`${[...names]}::text[]`, Prisma.sql`host`)}
    ORDER BY host`;
}
