// Owns the list of names that an app's code expects, from its .env.example. Names only: what stands behind them is no
// value of ours.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import type { UpdateExpectedSecretsInput } from './schema.ts';

export async function updateExpectedSecrets(
  ctx: Ctx,
  input: UpdateExpectedSecretsInput,
): Promise<UpdateExpectedSecretsInput> {
  const { appId } = input;
  const names = [...new Set(input.names)].sort();
  const app = await ctx.tx.app.findFirst({
    where: { id: appId, organizationId: ctx.organizationId },
    select: { name: true, expectedSecretNames: true },
  });
  if (app === null) throw new AppError('app.not_found', { appId });
  await ctx.tx.app.update({ where: { id: appId }, data: { expectedSecretNames: names } });
  await recordAudit(ctx, {
    action: 'secret.update_expected',
    target: { kind: 'app', id: appId, label: app.name },
    before: { names: app.expectedSecretNames },
    after: { names },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return { appId, names };
}
