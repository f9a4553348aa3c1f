// Links installations of an organization's GitHub App, and follows what happens to them at GitHub.
import { newId, parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, type OrganizationCtx } from '../kernel/index.ts';
import { installUrl } from './rules.ts';
import type { GithubAppRef, LinkedInstallation } from './schema.ts';
import { createState } from './state.ts';

/** Installation as GitHub describes it. */
export interface InstallationFacts {
  readonly installationId: number;
  /** Id of the app at GitHub. */
  readonly githubId: number;
  readonly accountId: number;
  readonly accountLogin: string;
  readonly accountType: string;
  readonly repositorySelection: string;
  readonly suspendedAt: Date | null;
}

/** Returns the address at GitHub where a person installs the app. */
export async function startInstall(ctx: Ctx, { githubAppId }: GithubAppRef): Promise<{ url: string }> {
  const { baseUrl, slug } = await requireGithubApp(ctx, githubAppId);
  const state = await createState(ctx, { purpose: 'install', baseUrl, githubAppId });
  return { url: installUrl({ baseUrl, slug }, state) };
}

/**
 * Links an installation that GitHub showed to the person who came back, and described to the app itself. Throws
 * github.installation_foreign if it is another app's.
 */
export async function recordInstallation(
  ctx: Ctx,
  githubAppId: string,
  facts: InstallationFacts,
): Promise<LinkedInstallation> {
  const app = await requireGithubApp(ctx, githubAppId);
  if (app.githubId !== BigInt(facts.githubId)) throw new AppError('github.installation_foreign');
  const id = await upsertInstallation(ctx, githubAppId, facts);
  const { accountLogin, accountType, repositorySelection } = facts;
  await recordAudit(ctx, {
    action: 'github.record_installation',
    target: { kind: 'github_installation', id, label: accountLogin },
    after: { githubAppId, installationId: facts.installationId, accountLogin, accountType, repositorySelection },
  });
  return { installationId: parseId('ghi', id), accountLogin };
}

/**
 * Brings linked installations up to date with GitHub's list: renamed, suspended and removed ones. An installation that was
 * never linked stays out, because no person has proven it.
 */
export async function syncInstallations(
  ctx: OrganizationCtx,
  githubAppId: string,
  list: readonly InstallationFacts[],
): Promise<void> {
  const { tx, organizationId } = ctx;
  const known = await tx.githubInstallation.findMany({ where: { githubAppId, organizationId } });
  for (const { id, installationId, removedAt } of known) {
    const facts = list.find((each) => BigInt(each.installationId) === installationId);
    if (facts !== undefined) await upsertInstallation(ctx, githubAppId, facts);
    else if (removedAt === null)
      await tx.githubInstallation.update({ where: { id }, data: { removedAt: ctx.clock.now() } });
  }
}

async function upsertInstallation(
  { tx, organizationId, clock }: OrganizationCtx,
  githubAppId: string,
  facts: InstallationFacts,
): Promise<string> {
  const { installationId, githubId: _, ...described } = facts;
  const data = { ...described, removedAt: null };
  const { id } = await tx.githubInstallation.upsert({
    where: { githubAppId_installationId: { githubAppId, installationId }, organizationId },
    create: { ...data, id: newId('ghi'), organizationId, githubAppId, installationId, createdAt: clock.now() },
    update: data,
    select: { id: true },
  });
  return id;
}

async function requireGithubApp({ tx, organizationId }: OrganizationCtx, githubAppId: string) {
  const app = await tx.githubApp.findFirst({
    where: { id: githubAppId, organizationId },
    select: { id: true, baseUrl: true, slug: true, githubId: true },
  });
  if (app === null) throw new AppError('github.app_not_found', { githubAppId });
  return app;
}

/** Ids at GitHub and here of the installations that GitHub lets the app use. */
export async function listActiveInstallations({ tx, organizationId }: OrganizationCtx, githubAppId: string) {
  return tx.githubInstallation.findMany({
    where: { githubAppId, organizationId, suspendedAt: null, removedAt: null },
    select: { id: true, installationId: true },
  });
}
