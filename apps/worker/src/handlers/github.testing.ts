// GitHub for tests of jobs: a client that reaches no fake, parts of handlers that reach one, and an app that is connected to it.
import { type AppId, newId } from '@fairlead/contract/ids';
import { createFolderArtifactStore } from '@fairlead/core/artifact';
import { defaultBuildSlots } from '@fairlead/core/deployment';
import {
  recordInstallation,
  recordLink,
  recordRegistration,
  recordRepositories,
  requireRepository,
} from '@fairlead/core/github';
import { manifestOf } from '@fairlead/core/github/rules';
import { createFolderLogStore } from '@fairlead/core/log';
import { silentLog, type TestWorld } from '@fairlead/core/testing';
import type { Database } from '@fairlead/db';
import { createGithub } from '@fairlead/github';
import { createOutbound } from '@fairlead/outbound';
import type { FakeGithub } from '@fairlead/testkit';
import type { HandlerParts } from './handler.ts';
import { createOrganizationTurns } from './organization-turns.ts';
import { testAcme, testDns, testHostLookup } from './testing.ts';

/** No private address is allowed, so no fake is reached. */
export const unusedGithub = createGithub({ outbound: createOutbound({ allowed: [] }), now: () => new Date() });

/** Parts whose client reaches a fake, by the clock `now`. */
export function githubParts(
  database: Database,
  world: TestWorld,
  { now = () => world.clock.now(), logs = 'unused' }: { readonly now?: () => Date; readonly logs?: string } = {},
): HandlerParts {
  return {
    database,
    logs: createFolderLogStore(logs),
    artifacts: createFolderArtifactStore('unused'),
    workerId: 'one',
    secretKeys: world.keys,
    links: { localHttpsPort: 4443, localHttpPort: 4480 },
    github: createGithub({ outbound: createOutbound({ allowed: ['127.0.0.1'] }), now }),
    mailer: null,
    publicUrl: 'https://fairlead.example.test',
    acme: testAcme,
    dns: testDns,
    hostLookup: testHostLookup,
    buildSlots: defaultBuildSlots,
    turns: createOrganizationTurns({ log: silentLog, stopping: new AbortController().signal }),
    backups: null,
    updates: null,
    stopping: new AbortController().signal,
    clock: world.clock,
    log: silentLog,
  };
}

export interface ConnectedApp {
  readonly appId: AppId;
  readonly githubAppId: string;
  /** Ids at GitHub. */
  readonly atGithub: number;
  readonly installationAtGithub: number;
  readonly repositoryId: number;
}

/** Registers and installs a GitHub App at the fake, and creates an app from its repository acme/shop. */
export async function connectApp(
  { github }: Pick<HandlerParts, 'github'>,
  world: TestWorld,
  fake: FakeGithub,
  { name = 'Shop', host = 'shop.example.test' }: { readonly name?: string; readonly host?: string | null } = {},
): Promise<ConnectedApp> {
  const account = fake.addAccount('acme');
  const { id: repositoryId } = fake.addRepository(account, 'shop');
  const githubAppId = newId('gha');
  const place = { githubAppId, publicUrl: 'https://fairlead.example.test', organizationSlug: 'acme' };
  const created = fake.createApp({ manifest: manifestOf(place), state: 'state', owner: account.login });
  const app = await github.convertManifest(fake.url, new URL(created).searchParams.get('code') ?? '');
  const installed = new URL(fake.install({ slug: app.slug, state: 'state', account: account.login }));
  const key = { baseUrl: fake.url, githubId: app.githubId, privateKey: app.privateKey };
  const facts = await github.getInstallation(key, Number(installed.searchParams.get('installation_id')));
  const { token } = await github.createToken(key, facts.installationId, { permissions: { metadata: 'read' } });
  const list = await github.listRepositories(fake.url, token);
  const { appId } = await world.createApp(name, { ...(host === null ? {} : { host }), deployNow: false });
  await world.tenant(async (ctx) => {
    await recordRegistration(ctx, { purpose: 'register', baseUrl: fake.url, githubAppId }, app, world.keys);
    const { installationId } = await recordInstallation(ctx, githubAppId, facts);
    await recordRepositories(ctx, installationId, list);
    await recordLink(ctx, appId, await requireRepository(ctx, { installationId, repositoryId }));
  });
  const { githubId: atGithub } = app;
  return { appId, githubAppId, atGithub, installationAtGithub: facts.installationId, repositoryId };
}
