// Updates an organization.
import { type AuditFields, recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, isUniqueViolation, notifyChange } from '../kernel/index.ts';
import { isReservedSlug } from './rules.ts';
import type { OrganizationIdentity, UpdateOrganizationInput } from './schema.ts';

/**
 * Changes the given fields. A member who begins to require a second factor needs one themselves, or they would lock
 * themselves out: throws organization.two_factor_yourself.
 */
export async function updateOrganization(
  ctx: Ctx,
  input: UpdateOrganizationInput,
  who: { readonly hasSecondFactor: boolean },
): Promise<OrganizationIdentity> {
  const { tx, organizationId } = ctx;
  const old = await tx.organization.findUnique({
    where: { id: organizationId },
    select: { name: true, slug: true, requiresTwoFactor: true },
  });
  if (old === null) throw new AppError('organization.not_found');
  const { name = old.name, slug = old.slug, requiresTwoFactor = old.requiresTwoFactor } = input;
  if (slug !== old.slug && isReservedSlug(slug)) throw new AppError('organization.slug_reserved', { slug });
  if (requiresTwoFactor && !old.requiresTwoFactor && !who.hasSecondFactor) {
    throw new AppError('organization.two_factor_yourself');
  }
  const [before, after] = changesOf(old, { name, slug, requiresTwoFactor });
  if (Object.keys(after).length === 0) return { id: organizationId, slug };
  try {
    await tx.organization.update({ where: { id: organizationId }, data: { name, slug, requiresTwoFactor } });
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError('organization.slug_taken', { slug }, { cause: error });
    throw error;
  }
  await recordAudit(ctx, {
    action: 'organization.update',
    target: { kind: 'organization', id: organizationId, label: name },
    before,
    after,
  });
  await notifyChange(ctx, { kind: 'organization', id: organizationId });
  return { id: organizationId, slug };
}

function changesOf(old: AuditFields, now: AuditFields): [AuditFields, AuditFields] {
  const changed = Object.keys(now).filter((key) => now[key] !== old[key]);
  const pick = (from: AuditFields) => Object.fromEntries(changed.map((key) => [key, from[key] ?? null]));
  return [pick(old), pick(now)];
}
