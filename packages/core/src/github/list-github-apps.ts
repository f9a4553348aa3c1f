// Lists an organization's GitHub Apps with their installations.
import { parseId } from '@fairlead/contract/ids';
import type { OrganizationCtx } from '../kernel/index.ts';
import { appUrl, manageUrl } from './rules.ts';
import type { GithubAppList } from './schema.ts';

export async function listGithubApps({ tx, organizationId }: OrganizationCtx): Promise<GithubAppList> {
  const rows = await tx.githubApp.findMany({
    where: { organizationId },
    select: {
      id: true,
      name: true,
      slug: true,
      baseUrl: true,
      ownerLogin: true,
      createdAt: true,
      installations: {
        include: { _count: { select: { repositories: true, appRepositories: true } } },
        orderBy: { accountLogin: 'asc' },
      },
    },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  return {
    items: rows.map(({ slug, installations, ...app }) => ({
      ...app,
      id: parseId('gha', app.id),
      url: appUrl({ baseUrl: app.baseUrl, slug }),
      installations: installations.map((each) => ({
        id: parseId('ghi', each.id),
        accountLogin: each.accountLogin,
        accountType: each.accountType,
        state: stateOf(each),
        repositorySelection: each.repositorySelection,
        repositories: each._count.repositories,
        apps: each._count.appRepositories,
        syncedAt: each.syncedAt,
        manageUrl: manageUrl({ ...each, baseUrl: app.baseUrl }),
      })),
    })),
  };
}

interface InstallationTimes {
  readonly removedAt: Date | null;
  readonly suspendedAt: Date | null;
}

export function stateOf({ removedAt, suspendedAt }: InstallationTimes): 'active' | 'suspended' | 'removed' {
  if (removedAt !== null) return 'removed';
  return suspendedAt === null ? 'active' : 'suspended';
}
