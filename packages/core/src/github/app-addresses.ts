// Compares the addresses of a GitHub App at GitHub with those of the dashboard, and records a change of its webhook's URL.
import { parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, type OrganizationCtx } from '../kernel/index.ts';
import { type AppAddresses, addressesOf, appSettingsUrl, findForeign, type ManifestInput } from './rules.ts';
import type { GithubAppAddresses, GithubAppRef } from './schema.ts';

type Dashboard = Required<Pick<ManifestInput, 'publicUrl' | 'origins'>>;

interface AddressesAtGithub extends Pick<AppAddresses, 'homepageUrl' | 'webhookUrl'> {
  readonly ownerType: string;
}

/** `atGithub`: what GitHub has. Throws github.app_not_found. */
export async function compareAddresses(
  ctx: OrganizationCtx,
  { githubAppId }: GithubAppRef,
  { publicUrl, origins }: Dashboard,
  atGithub: AddressesAtGithub,
): Promise<GithubAppAddresses> {
  const { organization, ...app } = await requireApp(ctx, githubAppId);
  const dashboard = { githubAppId, publicUrl, origins };
  const foreign = findForeign(dashboard, atGithub);
  const { homepageUrl, webhookUrl, callbackUrls } = addressesOf({ ...dashboard, organizationSlug: organization.slug });
  return {
    githubAppId,
    webhook: { atGithub: atGithub.webhookUrl, expected: webhookUrl, isForeign: foreign.webhook },
    homepage: { atGithub: atGithub.homepageUrl, expected: homepageUrl, isForeign: foreign.homepage },
    callbackUrls: [...callbackUrls],
    settingsUrl: appSettingsUrl(app, app.ownerLogin, atGithub.ownerType),
  };
}

/** The URL was changed at GitHub. Throws github.app_not_found. */
export async function recordWebhookUpdate(
  ctx: Ctx,
  { githubAppId }: GithubAppRef,
  { before, after }: { readonly before: string; readonly after: string },
): Promise<GithubAppRef> {
  const { name } = await requireApp(ctx, githubAppId);
  await recordAudit(ctx, {
    action: 'github.update_webhook',
    target: { kind: 'github_app', id: githubAppId, label: name },
    before: { webhookUrl: before },
    after: { webhookUrl: after },
  });
  return { githubAppId: parseId('gha', githubAppId) };
}

async function requireApp({ tx, organizationId }: OrganizationCtx, githubAppId: string) {
  const app = await tx.githubApp.findFirst({
    where: { id: githubAppId, organizationId },
    select: { name: true, baseUrl: true, slug: true, ownerLogin: true, organization: { select: { slug: true } } },
  });
  if (app === null) throw new AppError('github.app_not_found', { githubAppId });
  return app;
}
