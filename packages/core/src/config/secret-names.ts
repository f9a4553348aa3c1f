// Finds variables whose plain value is in old settings although a secret has, or had, their name. Someone made the value
// secret, so nothing shows it again.
import type { OrganizationCtx } from '../kernel/index.ts';
import type { Settings } from './schema.ts';

interface SecretPlace {
  readonly appId: string;
  readonly environmentId: string;
}

/** `deleted`: only deleted secrets had the name. */
export type SecretNames = ReadonlyMap<string, 'secret' | 'deleted'>;

/** Returns those of `names` that secrets of the app or of its groups have or had. */
export async function findSecretNames(
  { tx, organizationId }: OrganizationCtx,
  { appId, environmentId }: SecretPlace,
  names: readonly string[],
): Promise<SecretNames> {
  if (names.length === 0) return new Map();
  const ofGroup = { group: { apps: { some: { appId } } } };
  const rows = await tx.secret.findMany({
    where: { organizationId, name: { in: [...names] }, OR: [{ appId, environmentId }, ofGroup] },
    select: { name: true, deletedAt: true, group: { select: { deletedAt: true } } },
    orderBy: { name: 'asc' },
  });
  const found = new Map<string, 'secret' | 'deleted'>();
  for (const { name, deletedAt, group } of rows) {
    const isDeleted = deletedAt !== null || (group !== null && group.deletedAt !== null);
    if (!isDeleted || !found.has(name)) found.set(name, isDeleted ? 'deleted' : 'secret');
  }
  return found;
}

/** Replaces a hidden value. */
const HIDDEN = '••••••';

/** Returns the settings without the values of such variables, except those that the newest settings show anyway. */
export async function hideSecretValues(
  ctx: OrganizationCtx,
  place: SecretPlace,
  { settings, newest }: { readonly settings: Settings; readonly newest: Settings },
): Promise<Settings> {
  const names = await findSecretNames(ctx, place, Object.keys(settings.variables));
  if (names.size === 0) return settings;
  const variables = Object.entries(settings.variables).map(([name, variable]) => [
    name,
    names.has(name) && newest.variables[name]?.value !== variable.value ? { ...variable, value: HIDDEN } : variable,
  ]);
  return { ...settings, variables: Object.fromEntries(variables) };
}
