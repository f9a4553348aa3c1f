// Fake GitHub in front of a system's repositories, connected to its organization as the dashboard does it.
import type { GithubAppId, GithubInstallationId } from '@fairlead/contract/ids';
import { newId } from '@fairlead/contract/ids';
import { recordInstallation, recordRegistration, recordRepositories } from '@fairlead/core/github';
import { manifestOf } from '@fairlead/core/github/rules';
import type { Ctx } from '@fairlead/core/kernel';
import { createGithub } from '@fairlead/github';
import { createOutbound } from '@fairlead/outbound';
import type { FakeGithub } from '@fairlead/testkit';
import type { System } from './system.ts';

export interface ConnectedGithub {
  readonly fake: FakeGithub;
  /** Its id is that of the webhook too. */
  readonly githubAppId: GithubAppId;
  readonly installationId: GithubInstallationId;
  /** Puts a repository behind the fake and lists it. */
  publish(name: string): Promise<{ readonly repositoryId: number }>;
  /** Lists the repositories that the fake has. */
  listRepositories(): Promise<void>;
}

/** Settings of a system that calls a fake GitHub. */
export const githubSettings = { FAIRLEAD_OUTBOUND_ALLOW: '127.0.0.1' } as const;

/** `publicUrl`: origin of the webhook; the default gets none. */
export async function connectGithub(
  system: System,
  fake: FakeGithub,
  publicUrl = 'https://fairlead.example.test',
): Promise<ConnectedGithub> {
  const account = fake.state.accounts.find(({ login }) => login === 'acme') ?? fake.addAccount('acme');
  const github = createGithub({ outbound: createOutbound({ allowed: ['127.0.0.1'] }), now: () => new Date() });
  const githubAppId = newId('gha');
  const place = { githubAppId, publicUrl, organizationSlug: 'test' };
  const created = fake.createApp({ manifest: manifestOf(place), state: 'state', owner: account.login });
  const app = await github.convertManifest(fake.url, new URL(created).searchParams.get('code') ?? '');
  const installed = fake.install({ slug: app.slug, state: 'state', account: account.login });
  const key = { baseUrl: fake.url, githubId: app.githubId, privateKey: app.privateKey };
  const atGithub = Number(new URL(installed).searchParams.get('installation_id'));
  const facts = await github.getInstallation(key, atGithub);
  const { installationId } = await system.asSystem(async (ctx, keys) => {
    await recordRegistration(asPerson(ctx), { purpose: 'register', baseUrl: fake.url, githubAppId }, app, keys);
    return recordInstallation(ctx, githubAppId, facts);
  });
  const listRepositories = async () => {
    const { token } = await github.createToken(key, atGithub, { permissions: { metadata: 'read' } });
    const list = await github.listRepositories(fake.url, token);
    await system.asSystem((ctx) => recordRepositories(ctx, installationId, list));
  };
  return {
    fake,
    githubAppId,
    installationId,
    publish: async (name) => {
      const { id } = fake.addRepository(account, name);
      await listRepositories();
      return { repositoryId: id };
    },
    listRepositories,
  };
}

/** A person registers an app, because it starts with a redirect. */
function asPerson(ctx: Ctx): Ctx {
  return { ...ctx, actor: { kind: 'member', userId: newId('usr'), role: 'owner' } };
}
