// Creates an app with its servers, settings, secrets, credential, domain and first deployment.
// Invariant: the caller's transaction holds all of it, so an app never exists in part.
import { newId, parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import type { UpdateConfigInput } from '../config/index.ts';
import { rotateKey, updateCredential } from '../credential/index.ts';
import { createDeployment } from '../deployment/index.ts';
import { createRoute, domainLabel, type HostPolicy, isReservedHost } from '../domain/index.ts';
import { recordLink, requireRepository } from '../github/index.ts';
import { AppError, type Ctx, isUniqueViolation, notifyChange, toSlug, withDeletedApps } from '../kernel/index.ts';
import { bumpServersOf, createPlacement } from '../placement/index.ts';
import { type Reach, wholeReach } from '../role/index.ts';
import { type SecretKeys, updateSecrets } from '../secret/index.ts';
import { pickSlug } from './rules.ts';
import type { AppSource, CreateAppInput, CreatedApp, NewCredential } from './schema.ts';
import { updateConfig } from './update-config.ts';

export interface CreateAppOptions {
  readonly hosts: HostPolicy;
  readonly keys: SecretKeys;
  /** Scopes where the caller may write domains; default: all. */
  readonly reach?: Reach;
}

/** Calls the verb of each part, which records its own audit event. Throws if one part is refused. */
export async function createApp(ctx: Ctx, input: CreateAppInput, options: CreateAppOptions): Promise<CreatedApp> {
  const { domain, firstDeploy, secrets } = input;
  const { hosts, keys, reach = wholeReach } = options;
  if (domain !== undefined && isReservedHost(domain.host, hosts)) {
    throw new AppError('domain.reserved', { host: domain.host });
  }
  const { appId, environmentId, slug } = await createPlacedApp(ctx, input);
  const settings = settingsOf(input);
  if (Object.keys(settings).length > 0) await updateConfig(ctx, { appId, environmentId, settings });
  if (secrets !== undefined) await updateSecrets(ctx, { owner: { appId, environmentId }, items: secrets }, keys);
  const publicKey = await storeCredential(ctx, appId, input.credential, keys);
  if (domain !== undefined) {
    await createRoute(ctx, { appId, environmentId, ...domain }, reach);
    await bumpServersOf(ctx, { appId, environmentId });
  }
  const upload = typeof firstDeploy === 'object' ? firstDeploy : {};
  const deployment = firstDeploy === 'none' ? null : await createDeployment(ctx, { appId, environmentId, ...upload });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  ctx.log.info({ appId, slug, actor: ctx.actor }, 'created an app');
  return { id: appId, slug, deploymentId: deployment?.deploymentId ?? null, publicKey };
}

/** Returns the settings that differ from the defaults: those of the input, and those that an image needs. */
export function settingsOf({ source, settings }: Pick<CreateAppInput, 'source' | 'settings'>) {
  const ofImage = source.kind === 'image' ? ({ builder: 'image', image: source.image } as const) : {};
  return { ...settings, ...ofImage } satisfies UpdateConfigInput['settings'];
}

/** Creates the row of the app and its primary placement. */
async function createPlacedApp(ctx: Ctx, input: CreateAppInput) {
  const { tx, organizationId } = ctx;
  const { name, healthPath, command, domain, serverIds } = input;
  const environment = await tx.environment.findFirst({
    where: { organizationId, ...(input.environmentId === undefined ? {} : { id: input.environmentId }) },
    select: { id: true, projectId: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  if (environment === null) throw new AppError('environment.not_found', { environmentId: input.environmentId });
  const environmentId = parseId('env', environment.id);
  const repository = input.source.kind === 'github' ? await requireRepository(ctx, input.source) : null;
  const { branch, ...source } = columnsOf(input.source, repository?.url ?? '');
  const appId = newId('app');
  const slug = await freeSlug(ctx, name);
  const row = { ...source, id: appId, organizationId, projectId: environment.projectId, name, slug };
  try {
    await tx.app.create({ data: { ...row, command, healthPath, createdAt: ctx.clock.now() } });
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError('app.name_taken', { name }, { cause: error });
    throw error;
  }
  if (repository !== null) await recordLink(ctx, appId, repository);
  await createPlacement(ctx, { appId, environmentId, branch, isPrimary: true, serverIds });
  const host = domain === undefined ? null : domainLabel(domain);
  await recordAudit(ctx, {
    action: 'app.create',
    target: { kind: 'app', id: appId, label: name },
    after: { name, slug, environmentId, ...source, branch, healthPath, command, serverIds, host },
  });
  return { appId, environmentId, slug };
}

interface SourceColumns {
  readonly repositoryUrl: string;
  readonly rootFolder: string;
  readonly branch: string;
  readonly template?: string;
}

function columnsOf(source: AppSource, linkedUrl: string): SourceColumns {
  switch (source.kind) {
    case 'github':
      return { repositoryUrl: linkedUrl, rootFolder: source.rootFolder, branch: source.branch };
    case 'git':
      return { repositoryUrl: source.repositoryUrl, rootFolder: source.rootFolder, branch: source.branch };
    case 'upload':
      return { repositoryUrl: '', rootFolder: source.rootFolder, branch: '' };
    case 'image':
      return { repositoryUrl: '', rootFolder: '', branch: '' };
    case 'template':
      return { repositoryUrl: '', rootFolder: '', branch: '', template: source.template };
  }
}

/** Returns the public key of a new deploy key. */
async function storeCredential(
  ctx: Ctx,
  appId: CreatedApp['id'],
  credential: NewCredential | undefined,
  keys: SecretKeys,
): Promise<string | null> {
  if (credential === undefined) return null;
  if (credential.kind === 'ssh') return (await rotateKey(ctx, { ...credential, appId }, keys)).publicKey;
  await updateCredential(ctx, { ...credential, appId }, keys);
  return null;
}

async function freeSlug(ctx: Ctx, name: string): Promise<string> {
  const wanted = toSlug(name) || 'app';
  // A deleted app keeps its name, so that it can be restored.
  const rows = await withDeletedApps(ctx, () =>
    ctx.tx.app.findMany({
      where: { organizationId: ctx.organizationId, OR: [{ slug: { startsWith: wanted } }, { name }] },
      select: { slug: true, name: true },
    }),
  );
  if (rows.some((row) => row.name === name)) throw new AppError('app.name_taken', { name });
  return pickSlug(wanted, new Set(rows.map(({ slug }) => slug)));
}
