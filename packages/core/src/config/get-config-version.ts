// Returns an earlier version of an app's settings, as a restore would save it.
// Invariant: never returns the plain value of a variable that is or was a secret.
import { AppError, type Ctx, type OrganizationCtx } from '../kernel/index.ts';
import { type Placement, requirePlacement } from '../placement/index.ts';
import type { ConfigVersionInput, ConfigVersionView, LeftOut, Settings } from './schema.ts';
import { findSecretNames, type SecretNames } from './secret-names.ts';
import { findConfigVersion, findNewestConfig } from './store.ts';

/** Throws config.version_not_found. */
export async function getConfigVersion(ctx: Ctx, input: ConfigVersionInput): Promise<ConfigVersionView> {
  const placement = await requirePlacement(ctx, input);
  const { settings } = await findNewestConfig(ctx, placement);
  return loadRestorable(ctx, placement, { number: input.number, current: settings });
}

interface VersionChoice {
  readonly number: number;
  /** Newest settings, which keep what the version can't bring back. */
  readonly current: Settings;
}

/** Throws config.version_not_found. */
export async function loadRestorable(
  ctx: OrganizationCtx,
  placement: Pick<Placement, 'appId' | 'environmentId'>,
  { number, current }: VersionChoice,
): Promise<ConfigVersionView> {
  const { appId, environmentId } = placement;
  const version = await findConfigVersion(ctx, placement, number);
  if (version === null) throw new AppError('config.version_not_found', { appId, number });
  const { id, createdAt, settings: former } = version;
  const secrets = await findSecretNames(ctx, { appId, environmentId }, Object.keys(former.variables));
  const hasBuildServer = await hasServer(ctx, former.buildServerId);
  const settings = {
    ...former,
    variables: Object.fromEntries([
      ...Object.entries(former.variables).filter(([name]) => !secrets.has(name)),
      ...keptOf(current, secrets),
    ]),
    buildServerId: hasBuildServer ? former.buildServerId : current.buildServerId,
  };
  const leftOut: LeftOut[] = [...secrets].map(([name, state]) => ({
    name: `variables.${name}`,
    reason: state === 'secret' ? 'is_secret' : 'was_secret',
  }));
  if (!hasBuildServer) leftOut.push({ name: 'buildServerId', reason: 'server_missing' });
  return { id, number, createdAt, settings, leftOut };
}

function keptOf({ variables }: Settings, names: SecretNames) {
  return Object.entries(variables).filter(([name]) => names.has(name));
}

async function hasServer(ctx: OrganizationCtx, serverId: string | null): Promise<boolean> {
  if (serverId === null) return true;
  const where = { id: serverId, organizationId: ctx.organizationId };
  return (await ctx.tx.server.findFirst({ where, select: { id: true } })) !== null;
}
