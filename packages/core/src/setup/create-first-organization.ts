// Owns what a control plane starts with: one organization that nobody owns yet.
import { newId, type OrganizationId, parseId } from '@fairlead/contract/ids';
import { type SystemCtx, toSlug } from '../kernel/index.ts';

export interface FirstOrganization {
  readonly organizationId: OrganizationId;
  readonly slug: string;
  /** False when an earlier start made it. */
  readonly created: boolean;
}

/** First parts of the dashboard's own paths: an organization of that slug would hide behind them. */
const reservedSlugs: ReadonlySet<string> = new Set([
  'setup',
  'sign-in',
  'account',
  'forgot-password',
  'reset-password',
  'verify-email',
  'install',
  'api',
  'healthz',
  'no-organization',
]);

// Two control planes that start at once must not both find an empty database.
const setupLock = 4_602_117_001n;

/**
 * The organization of the first start, without members: it owns the local server and the sample app until somebody
 * claims it. Safe to call on every start.
 */
export async function createFirstOrganization(ctx: SystemCtx, input: { name: string }): Promise<FirstOrganization> {
  await ctx.tx.$executeRaw`SELECT pg_advisory_xact_lock(${setupLock})`;
  const existing = await ctx.tx.organization.findFirst({
    select: { id: true, slug: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  if (existing !== null) return { organizationId: parseId('org', existing.id), slug: existing.slug, created: false };

  const organizationId = newId('org');
  const wanted = toSlug(input.name) || 'organization';
  const slug = reservedSlugs.has(wanted) ? `${wanted}-organization` : wanted;
  const now = ctx.clock.now();
  await ctx.tx.organization.create({ data: { id: organizationId, name: input.name, slug, createdAt: now } });
  const projectId = newId('prj');
  await ctx.tx.project.create({
    data: { id: projectId, organizationId, name: 'Default', slug: 'default', createdAt: now },
  });
  await ctx.tx.environment.create({
    data: { id: newId('env'), organizationId, projectId, name: 'Production', slug: 'production', createdAt: now },
  });
  ctx.log.info({ organizationId }, 'created the first organization');
  return { organizationId, slug, created: true };
}
