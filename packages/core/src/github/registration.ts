// Registers an organization's GitHub App by the manifest flow, and removes it. Its secrets are sealed at once.
import { newId, parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, isUniqueViolation } from '../kernel/index.ts';
import { githubSecretId, type SecretKeys } from '../secret/index.ts';
import { installUrl, type ManifestInput, manifestOf, registrationUrl } from './rules.ts';
import type { GithubAppRef, StartedRegistration, StartRegistrationInput } from './schema.ts';
import { createState, type StateInput } from './state.ts';

/** Returns the form that the browser posts to GitHub. */
export async function startRegistration(
  ctx: Ctx,
  { baseUrl, owner }: StartRegistrationInput,
  { publicUrl, origins }: Required<Pick<ManifestInput, 'publicUrl' | 'origins'>>,
): Promise<StartedRegistration> {
  const githubAppId = newId('gha');
  const { slug } = await ctx.tx.organization.findUniqueOrThrow({
    where: { id: ctx.organizationId },
    select: { slug: true },
  });
  const state = await createState(ctx, { purpose: 'register', baseUrl, githubAppId });
  const manifest = manifestOf({ githubAppId, publicUrl, origins, organizationSlug: slug });
  return { action: registrationUrl(baseUrl, owner, state), manifest };
}

/** App that GitHub made of a manifest. */
export interface NewGithubApp {
  readonly githubId: number;
  readonly slug: string;
  readonly name: string;
  readonly ownerLogin: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly webhookSecret: string;
  readonly privateKey: string;
}

/** Stores a new app; returns the address where it is installed. Throws github.app_taken. */
export async function recordRegistration(
  ctx: Ctx,
  { baseUrl, githubAppId }: StateInput,
  app: NewGithubApp,
  keys: SecretKeys,
): Promise<{ url: string }> {
  const { githubId, slug, name, ownerLogin, clientId, ...secrets } = app;
  const active = await keys.active(ctx);
  const seal = (column: keyof typeof secrets) =>
    active.seal(githubSecretId(githubAppId, column), Buffer.from(secrets[column], 'utf8'));
  try {
    await ctx.tx.githubApp.create({
      data: {
        id: githubAppId,
        organizationId: ctx.organizationId,
        baseUrl,
        githubId,
        slug,
        name,
        ownerLogin,
        clientId,
        dataKeyId: active.dataKeyId,
        privateKey: seal('privateKey'),
        webhookSecret: seal('webhookSecret'),
        clientSecret: seal('clientSecret'),
        createdAt: ctx.clock.now(),
      },
    });
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError('github.app_taken', {}, { cause: error });
    throw error;
  }
  await recordAudit(ctx, {
    action: 'github.register_app',
    target: { kind: 'github_app', id: githubAppId, label: name },
    after: { baseUrl, ownerLogin, githubId },
  });
  const state = await createState(ctx, { purpose: 'install', baseUrl, githubAppId });
  return { url: installUrl({ baseUrl, slug }, state) };
}

/** Removes the app here; its owner deletes it at GitHub. Throws github.in_use while apps are built from its repositories. */
export async function deleteGithubApp(ctx: Ctx, { githubAppId }: GithubAppRef): Promise<GithubAppRef> {
  const { tx, organizationId } = ctx;
  const app = await tx.githubApp.findFirst({
    where: { id: githubAppId, organizationId },
    select: { name: true, baseUrl: true, ownerLogin: true },
  });
  if (app === null) throw new AppError('github.app_not_found', { githubAppId });
  const apps = await tx.appRepository.count({ where: { organizationId, installation: { githubAppId } } });
  if (apps > 0) throw new AppError('github.in_use', { apps });
  await tx.githubState.deleteMany({ where: { organizationId, githubAppId } });
  await tx.githubApp.delete({ where: { id: githubAppId } });
  const { name, ...before } = app;
  await recordAudit(ctx, {
    action: 'github.delete_app',
    target: { kind: 'github_app', id: githubAppId, label: name },
    before,
  });
  return { githubAppId: parseId('gha', githubAppId) };
}
