// Fake GitHub of the push check, with an installed app whose webhooks go to the check's intake.
import { type AppId, newId } from '@fairlead/contract/ids';
import {
  recordInstallation,
  recordLink,
  recordRegistration,
  recordRepositories,
  requireRepository,
} from '@fairlead/core/github';
import { manifestOf } from '@fairlead/core/github/rules';
import type { TestWorld } from '@fairlead/core/testing';
import { createGithub } from '@fairlead/github';
import { createOutbound } from '@fairlead/outbound';
import { createFakeGithub, type FakeGithub } from '@fairlead/testkit';

export interface PushGithub {
  readonly fake: FakeGithub;
  /** Id of the app here, and at the fake. */
  readonly githubAppId: string;
  readonly atGithub: number;
  readonly webhookSecret: string;
}

/** Settings of a process that calls the fake. */
export const githubSettings = { FAIRLEAD_OUTBOUND_ALLOW: '127.0.0.1' } as const;

export interface PushGithubOptions {
  /** Origin of the intake. */
  readonly publicUrl: string;
  /** App of each repository, by the repository's id. */
  readonly apps: ReadonlyMap<number, AppId>;
}

export async function connectGithub(world: TestWorld, { publicUrl, apps }: PushGithubOptions): Promise<PushGithub> {
  const fake = await createFakeGithub();
  const account = fake.addAccount('acme');
  for (const id of apps.keys()) fake.addRepository(account, `shop-${id}`, { id });
  const github = createGithub({ outbound: createOutbound({ allowed: ['127.0.0.1'] }), now: () => new Date() });
  const githubAppId = newId('gha');
  const manifest = manifestOf({ githubAppId, publicUrl, organizationSlug: 'acme' });
  const created = fake.createApp({ manifest, state: 'state', owner: account.login });
  const app = await github.convertManifest(fake.url, new URL(created).searchParams.get('code') ?? '');
  const installed = new URL(fake.install({ slug: app.slug, state: 'state', account: account.login }));
  const key = { baseUrl: fake.url, githubId: app.githubId, privateKey: app.privateKey };
  const facts = await github.getInstallation(key, Number(installed.searchParams.get('installation_id')));
  const { token } = await github.createToken(key, facts.installationId, { permissions: { metadata: 'read' } });
  const list = await github.listRepositories(fake.url, token);
  await world.tenant(async (ctx) => {
    await recordRegistration(ctx, { purpose: 'register', baseUrl: fake.url, githubAppId }, app, world.keys);
    const { installationId } = await recordInstallation(ctx, githubAppId, facts);
    await recordRepositories(ctx, installationId, list);
    for (const [repositoryId, appId] of apps)
      await recordLink(ctx, appId, await requireRepository(ctx, { installationId, repositoryId }));
  });
  return { fake, githubAppId, atGithub: app.githubId, webhookSecret: app.webhookSecret };
}
