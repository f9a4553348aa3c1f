// OAuth clients of GitHub Apps for a person's account, which belongs to no organization.
import type { SystemCtx } from '../kernel/index.ts';

export interface GithubClientRow {
  readonly githubAppId: string;
  readonly organizationId: string;
  readonly name: string;
  readonly baseUrl: string;
  readonly clientId: string;
}

export async function findGithubClient(
  { tx }: Pick<SystemCtx, 'tx'>,
  { githubAppId }: { readonly githubAppId: string },
): Promise<GithubClientRow | null> {
  const row = await tx.githubApp.findUnique({ where: { id: githubAppId }, select: columns });
  return row === null ? null : toClient(row);
}

/** Lists the apps of the organizations that the person is a member of. */
export async function listGithubClients(
  { tx }: Pick<SystemCtx, 'tx'>,
  { userId }: { readonly userId: string },
): Promise<readonly GithubClientRow[]> {
  const rows = await tx.githubApp.findMany({
    where: { organization: { endingAt: null, members: { some: { userId } } } },
    select: columns,
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  return rows.map(toClient);
}

const columns = { id: true, organizationId: true, name: true, baseUrl: true, clientId: true } as const;

function toClient({ id, ...row }: Omit<GithubClientRow, 'githubAppId'> & { readonly id: string }): GithubClientRow {
  return { ...row, githubAppId: id };
}
