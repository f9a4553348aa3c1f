// Writes environment variables: plain ones into a new version of the settings, secrets encrypted; all or nothing.
// Invariant: no name is plain and secret at once after it.
import { updateConfig } from '../app/index.ts';
import { findNewestConfig, type Settings, variablesMax } from '../config/index.ts';
import { requireNothingInReview } from '../deployment/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import { requirePlacement } from '../placement/index.ts';
import { type SecretKeys, updateSecrets } from '../secret/index.ts';
import type { PlainItem, UpdatedVariables, UpdateVariablesInput } from './schema.ts';

/** Throws variable.is_secret for a plain variable with the name of a secret, and what updateConfig and updateSecrets throw. */
export async function updateVariables(
  ctx: Ctx,
  input: UpdateVariablesInput,
  keys: SecretKeys,
): Promise<UpdatedVariables> {
  const { appId, plain, secrets } = input;
  // Locks the app, so that two calls at the same time never lose each other's variables.
  await requireNothingInReview(ctx, { appId });
  const { environmentId } = await requirePlacement(ctx, input);
  await requireNotSecret(ctx, { appId, environmentId }, plain);
  const { settings } = await findNewestConfig(ctx, { appId, environmentId });
  const leaving = new Set([...input.deleted, ...secrets.map(({ name }) => name)]);
  const result: UpdatedVariables = { added: [], changed: [], unchanged: [], deleted: [] };
  result.deleted.push(...input.deleted.filter((name) => Object.hasOwn(settings.variables, name)));
  const variables = mergeVariables(settings.variables, plain, leaving, result);
  if (Object.keys(variables).length > variablesMax) throw new AppError('variable.too_many', { most: variablesMax });
  if (JSON.stringify(variables) !== JSON.stringify(settings.variables)) {
    await updateConfig(ctx, { appId, environmentId, settings: { variables } });
  }
  if (secrets.length > 0) {
    const written = await updateSecrets(ctx, { owner: { appId, environmentId }, items: secrets }, keys);
    for (const kind of ['added', 'changed', 'unchanged'] as const) result[kind].push(...written[kind]);
  }
  return result;
}

/** Returns the variables after the change, and notes in `result` what the change does. */
function mergeVariables(
  before: Settings['variables'],
  plain: readonly PlainItem[],
  leaving: ReadonlySet<string>,
  result: UpdatedVariables,
): Settings['variables'] {
  const after = new Map(Object.entries(before).filter(([name]) => !leaving.has(name)));
  for (const { name, value, scope } of plain) {
    const was = Object.hasOwn(before, name) ? before[name] : undefined;
    const is = { value, scope: scope ?? was?.scope ?? 'both' };
    after.set(name, is);
    if (was === undefined) result.added.push(name);
    else result[was.value === is.value && was.scope === is.scope ? 'unchanged' : 'changed'].push(name);
  }
  return Object.fromEntries(after);
}

async function requireNotSecret(
  ctx: Ctx,
  placement: { readonly appId: string; readonly environmentId: string },
  plain: readonly PlainItem[],
): Promise<void> {
  if (plain.length === 0) return;
  const secret = await ctx.tx.secret.findFirst({
    where: {
      ...placement,
      organizationId: ctx.organizationId,
      deletedAt: null,
      name: { in: plain.map(({ name }) => name) },
    },
    select: { name: true },
  });
  if (secret !== null) throw new AppError('variable.is_secret', { name: secret.name });
}
