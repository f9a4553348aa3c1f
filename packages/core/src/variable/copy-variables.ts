// Copies environment variables of an app from one of its environments to another.
// Invariant: values of secrets stay on the server, and what is sealed stays sealed.
import { recordAudit } from '../audit/index.ts';
import { findNewestConfig } from '../config/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import { lockApps, requireNoPreview, requirePlacement } from '../placement/index.ts';
import { loadSecretItems, type SecretKeys } from '../secret/index.ts';
import type { CopyVariablesInput, UpdatedVariables } from './schema.ts';
import { updateVariables } from './update-variables.ts';

/** Throws variable.not_found for a name that the source lacks, and what updateVariables throws in the target. */
export async function copyVariables(ctx: Ctx, input: CopyVariablesInput, keys: SecretKeys): Promise<UpdatedVariables> {
  const { appId } = input;
  await lockApps(ctx, [appId]);
  const source = await requirePlacement(ctx, { appId, environmentId: input.fromEnvironmentId });
  const target = await requirePlacement(ctx, { appId, environmentId: input.environmentId });
  // A preview has the variables of another environment, which is the one to copy from.
  for (const placement of [source, target]) await requireNoPreview(ctx, placement);
  const { settings } = await findNewestConfig(ctx, source);
  const plain = input.plain.map((name) => {
    const variable = Object.hasOwn(settings.variables, name) ? settings.variables[name] : undefined;
    if (variable === undefined) throw new AppError('variable.not_found', { name });
    return { name, ...variable };
  });
  const { environmentId } = source;
  const secrets = await loadSecretItems(ctx, { appId, environmentId, names: input.secrets }, keys);
  const missing = input.secrets.find((name) => !secrets.some((secret) => secret.name === name));
  if (missing !== undefined) throw new AppError('variable.not_found', { name: missing });
  const copied = await updateVariables(
    ctx,
    { appId, environmentId: target.environmentId, plain, secrets, deleted: [] },
    keys,
  );
  await recordAudit(ctx, {
    action: 'variable.copy',
    target: { kind: 'app', id: appId, label: target.appName },
    after: {
      from: source.environmentName,
      to: target.environmentName,
      variables: input.plain,
      secrets: input.secrets,
    },
  });
  return copied;
}
