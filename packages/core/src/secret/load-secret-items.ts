// Loads secrets of an app with their values, to write them elsewhere on the server.
// Invariant: callers never answer what it returns.
import { AppError, type Ctx } from '../kernel/index.ts';
import type { SecretKeys } from './data-key.ts';
import { deliverySchema, type SecretItem } from './schema.ts';
import { loadCurrent, loadValues } from './store.ts';

export interface NamedSecrets {
  readonly appId: string;
  readonly environmentId: string;
  readonly names: readonly string[];
}

/** Returns those of the names that exist. Throws secret.undecryptable. */
export async function loadSecretItems(
  ctx: Ctx,
  { names, ...where }: NamedSecrets,
  keys: SecretKeys,
): Promise<SecretItem[]> {
  if (names.length === 0) return [];
  const wanted = new Set(names);
  const rows = (await loadCurrent(ctx, where)).filter(({ name }) => wanted.has(name));
  const stored = await loadValues(
    ctx,
    rows.map(({ versionId }) => versionId),
  );
  const items: SecretItem[] = [];
  for (const { name, versionId, delivery, sealed, atBuild, expiresAt } of rows) {
    const envelope = stored.get(versionId);
    if (envelope === undefined) throw new AppError('secret.undecryptable', { versionId });
    const value = (await keys.open(ctx.organizationId, envelope)).toString('utf8');
    items.push({ name, value, delivery: deliverySchema.parse(delivery), sealed, atBuild, expiresAt });
  }
  return items;
}
