// Makes a repository of the organization's GitHub App the source of an app that exists.
import { recordAudit } from '../audit/index.ts';
import { requireNothingInReview } from '../deployment/index.ts';
import { type LinkRepositoryInput, type RepositoryView, recordLink, requireRepository } from '../github/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';

/** Takes effect with the next deployment. */
export async function linkRepository(ctx: Ctx, input: LinkRepositoryInput): Promise<RepositoryView> {
  const { appId, ...ref } = input;
  const { tx, organizationId } = ctx;
  const app = await tx.app.findFirst({
    where: { id: appId, organizationId },
    select: { name: true, repositoryUrl: true },
  });
  if (app === null) throw new AppError('app.not_found', { appId });
  const repository = await requireRepository(ctx, ref);
  const { url: repositoryUrl, repositoryId } = repository;
  if (repositoryUrl !== app.repositoryUrl) await requireNothingInReview(ctx, { appId });
  await recordLink(ctx, appId, repository);
  await tx.app.update({ where: { id: appId }, data: { repositoryUrl } });
  await recordAudit(ctx, {
    action: 'github.link_repository',
    target: { kind: 'app', id: appId, label: app.name },
    before: { repositoryUrl: app.repositoryUrl },
    after: { repositoryUrl, repositoryId },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return repository;
}
