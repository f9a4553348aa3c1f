// Repositories that installations reach, and their links to apps. A link names GitHub's id, so it outlives a rename.
import { parseId } from '@fairlead/contract/ids';
import { AppError, type Ctx, notifyChange, type OrganizationCtx } from '../kernel/index.ts';
import { stateOf } from './list-github-apps.ts';
import { cloneUrl } from './rules.ts';
import type {
  AppRepositoryView,
  ListRepositoriesInput,
  RepositoryList,
  RepositoryRef,
  RepositoryView,
} from './schema.ts';

/** Repositories of one answer. */
const listMax = 50;

/** Repository as GitHub describes it. */
export interface RepositoryFacts {
  readonly repositoryId: number;
  readonly fullName: string;
  readonly defaultBranch: string;
  readonly isPrivate: boolean;
  readonly isArchived: boolean;
  readonly pushedAt: Date | null;
}

/** Lists repositories of active installations that can be deployed, the most recently pushed first. */
export async function listRepositories(ctx: OrganizationCtx, input: ListRepositoriesInput): Promise<RepositoryList> {
  const { tx, organizationId } = ctx;
  const active = { suspendedAt: null, removedAt: null };
  const search = input.search?.trim() ?? '';
  const rows = await tx.githubRepository.findMany({
    where: {
      organizationId,
      isArchived: false,
      installation: active,
      ...(search === '' ? {} : { fullName: { contains: search, mode: 'insensitive' as const } }),
    },
    include: { installation: { select: { githubApp: { select: { baseUrl: true } } } } },
    orderBy: [{ pushedAt: { sort: 'desc', nulls: 'last' } }, { fullName: 'asc' }],
    take: listMax + 1,
  });
  const installations = await tx.githubInstallation.count({ where: { organizationId, ...active } });
  return { items: rows.slice(0, listMax).map(toView), more: rows.length > listMax, installations };
}

/** Replaces the list of an installation, and updates linked apps: renamed, transferred away, or back again. */
export async function recordRepositories(
  ctx: OrganizationCtx,
  installationId: string,
  list: readonly RepositoryFacts[],
): Promise<void> {
  const { tx, organizationId, clock } = ctx;
  const where = { installationId, organizationId };
  await tx.githubRepository.deleteMany({ where });
  await tx.githubRepository.createMany({ data: list.map((each) => ({ ...each, ...where })), skipDuplicates: true });
  await tx.githubInstallation.update({ where: { id: installationId }, data: { syncedAt: clock.now() } });
  const lost = new Set((await tx.appRepository.findMany({ where })).map((link) => link.repositoryId));
  for (const facts of list) {
    if (lost.delete(BigInt(facts.repositoryId))) await followLinks(ctx, installationId, facts);
  }
  await loseLinks(ctx, { installationId }, [...lost]);
}

interface InstallationRow {
  readonly installationId: string;
}

/** Updates a known repository, and the apps that are built from it. */
export async function followRepository(
  ctx: OrganizationCtx,
  installationId: string,
  { repositoryId, ...data }: Omit<RepositoryFacts, 'pushedAt'>,
): Promise<void> {
  const where = { installationId, repositoryId, organizationId: ctx.organizationId };
  await ctx.tx.githubRepository.updateMany({ where, data });
  await followLinks(ctx, installationId, { repositoryId, ...data });
}

/** Removes repositories that an installation no longer reaches. Apps keep their link, and say so. */
export async function loseRepositories(
  ctx: OrganizationCtx,
  { installationId }: InstallationRow,
  repositoryIds: readonly number[],
): Promise<void> {
  const where = { installationId, organizationId: ctx.organizationId, repositoryId: { in: [...repositoryIds] } };
  await ctx.tx.githubRepository.deleteMany({ where });
  await loseLinks(ctx, { installationId }, repositoryIds);
}

async function loseLinks(
  ctx: OrganizationCtx,
  { installationId }: InstallationRow,
  repositoryIds: readonly (number | bigint)[],
): Promise<void> {
  const { tx, organizationId, clock } = ctx;
  const where = { installationId, organizationId, lostAt: null, repositoryId: { in: repositoryIds.map(BigInt) } };
  const links = await tx.appRepository.findMany({ where, select: { appId: true } });
  await tx.appRepository.updateMany({ where, data: { lostAt: clock.now() } });
  for (const { appId } of links) await notifyChange(ctx, { kind: 'app', id: appId, appId });
}

async function followLinks(
  ctx: OrganizationCtx,
  installationId: string,
  { repositoryId, fullName, defaultBranch, isPrivate }: Omit<RepositoryFacts, 'pushedAt' | 'isArchived'>,
): Promise<void> {
  const { tx, organizationId } = ctx;
  const links = await tx.appRepository.findMany({
    where: { installationId, organizationId, repositoryId },
    include: { installation: { select: { githubApp: { select: { baseUrl: true } } } } },
  });
  for (const { appId, installation, ...before } of links) {
    await tx.appRepository.update({ where: { appId }, data: { fullName, defaultBranch, isPrivate, lostAt: null } });
    if (fullName === before.fullName && before.lostAt === null) continue;
    const repositoryUrl = cloneUrl(installation.githubApp.baseUrl, fullName);
    await tx.app.updateMany({ where: { id: appId, organizationId }, data: { repositoryUrl } });
    await notifyChange(ctx, { kind: 'app', id: appId, appId });
  }
}

/** Returns a repository of an active installation. Throws github.repository_not_found. */
export async function requireRepository(ctx: OrganizationCtx, { installationId, repositoryId }: RepositoryRef) {
  const row = await ctx.tx.githubRepository.findFirst({
    where: {
      installationId,
      repositoryId,
      organizationId: ctx.organizationId,
      installation: { suspendedAt: null, removedAt: null },
    },
    include: {
      installation: { select: { installationId: true, githubAppId: true, githubApp: { select: { baseUrl: true } } } },
    },
  });
  if (row === null) throw new AppError('github.repository_not_found', { repositoryId });
  const { installation } = row;
  return {
    ...toView(row),
    githubAppId: installation.githubAppId,
    /** At GitHub. */
    githubInstallationId: Number(installation.installationId),
    baseUrl: installation.githubApp.baseUrl,
  };
}

/** Stores the link of an app whose row has the repository's address. */
export async function recordLink({ tx, organizationId, clock }: Ctx, appId: string, repository: RepositoryView) {
  const { installationId, repositoryId, fullName, defaultBranch, isPrivate } = repository;
  const data = { organizationId, installationId, repositoryId, fullName, defaultBranch, isPrivate, lostAt: null };
  await tx.appRepository.upsert({
    where: { appId, organizationId },
    create: { ...data, appId, createdAt: clock.now() },
    update: data,
  });
}

/** Removes the link of an app whose source becomes another address. */
export async function removeLink({ tx, organizationId }: Ctx, appId: string): Promise<void> {
  await tx.appRepository.deleteMany({ where: { appId, organizationId } });
  await tx.sourceCredential.deleteMany({ where: { appId, organizationId, kind: 'github' } });
}

export async function getAppRepository(
  { tx, organizationId }: OrganizationCtx,
  { appId }: { readonly appId: string },
): Promise<AppRepositoryView> {
  const row = await tx.appRepository.findFirst({
    where: { appId, organizationId },
    include: { installation: { include: { githubApp: { select: { baseUrl: true } } } } },
  });
  if (row === null) return { repository: null };
  const { installation, fullName, defaultBranch, lostAt } = row;
  const state = stateOf(installation);
  return {
    repository: {
      fullName,
      defaultBranch,
      url: `${installation.githubApp.baseUrl}/${fullName}`,
      accountLogin: installation.accountLogin,
      state: state === 'active' && lostAt !== null ? 'lost' : state,
    },
  };
}

interface RepositoryRow {
  readonly installationId: string;
  readonly repositoryId: bigint;
  readonly fullName: string;
  readonly defaultBranch: string;
  readonly isPrivate: boolean;
  readonly pushedAt: Date | null;
  readonly installation: { readonly githubApp: { readonly baseUrl: string } };
}

function toView(row: RepositoryRow): RepositoryView {
  const { fullName, defaultBranch, isPrivate, pushedAt } = row;
  return {
    installationId: parseId('ghi', row.installationId),
    repositoryId: Number(row.repositoryId),
    fullName,
    defaultBranch,
    isPrivate,
    pushedAt,
    url: cloneUrl(row.installation.githubApp.baseUrl, fullName),
  };
}
