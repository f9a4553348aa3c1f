// Inserts an organization with its initial rows. The caller adds the first member.
import { newId, type OrganizationId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { type Actor, forOrganization, type SystemCtx, toSlug } from '../kernel/index.ts';
import { insertProject } from '../project/index.ts';
import { freeSlug } from './rules.ts';

// Two concurrent calls with the same name must not choose the same slug.
const namingLock = 4_602_117_002n;

/** An organization with a project and an environment to deploy to. */
export async function insertOrganization(
  ctx: SystemCtx,
  input: { readonly name: string; readonly actor: Actor; readonly ip: string | null },
): Promise<{ organizationId: OrganizationId; slug: string }> {
  const { name, actor, ip } = input;
  await ctx.tx.$executeRaw`SELECT pg_advisory_xact_lock(${namingLock})`;
  const wanted = toSlug(name);
  const taken = await ctx.tx.organization.findMany({
    where: { slug: { startsWith: wanted === '' ? 'organization' : wanted } },
    select: { slug: true },
  });
  const slug = freeSlug(wanted, new Set(taken.map((each) => each.slug)));
  const organizationId = newId('org');
  const createdAt = ctx.clock.now();
  await ctx.tx.organization.create({ data: { id: organizationId, name, slug, createdAt } });
  const core = forOrganization(ctx, organizationId);
  await insertProject(core, { name: 'Default', slug: 'default' });
  await recordAudit(
    { ...core, actor, ip },
    {
      action: 'organization.create',
      target: { kind: 'organization', id: organizationId, label: name },
      after: { name, slug },
    },
  );
  return { organizationId, slug };
}
