// Connects a fake GitHub through the API, as the dashboard does.
import { createFakeGithub, type FakeGithub } from '@fairlead/testkit';
import { onTestFinished } from 'vitest';
import type { TestApi } from './test-api.ts';

type Caller = ReturnType<TestApi['caller']>;

/** Starts a fake GitHub with the organization "acme"; it ends with the test. */
export async function startGithub(): Promise<FakeGithub> {
  const fake = await createFakeGithub();
  onTestFinished(() => fake.close());
  fake.addAccount('acme');
  return fake;
}

/** Starts a fake GitHub with one repository, and connects it. The caller closes it. */
export async function connectRepository(caller: Caller) {
  const fake = await createFakeGithub();
  const { id: repositoryId } = fake.addRepository(fake.addAccount('acme'), 'shop');
  return { fake, repositoryId, ...(await connectGithub(caller, fake)) };
}

/** Returns the query of the redirect after the app is created at GitHub. */
export async function registerAtGithub(caller: Caller, fake: FakeGithub, owner = 'acme') {
  const { action, manifest } = await caller.github.startRegistration({ baseUrl: fake.url, owner });
  const state = new URL(action).searchParams.get('state') ?? '';
  const back = new URL(fake.createApp({ manifest, state, owner })).searchParams;
  return { state: back.get('state') ?? '', code: back.get('code') ?? '' };
}

/** Returns the query of the redirect after the app is installed, from the address that the API named. */
export function installAtGithub(fake: FakeGithub, url: string, account = 'acme') {
  const { pathname, searchParams } = new URL(url);
  const slug = pathname.split('/')[2] ?? '';
  const back = new URL(fake.install({ slug, state: searchParams.get('state') ?? '', account })).searchParams;
  return {
    state: back.get('state') ?? '',
    code: back.get('code') ?? '',
    installationId: Number(back.get('installation_id')),
  };
}

/** Registers and installs an app. */
export async function connectGithub(caller: Caller, fake: FakeGithub) {
  const { url } = await caller.github.completeRegistration(await registerAtGithub(caller, fake));
  const { installationId } = await caller.github.completeInstall(installAtGithub(fake, url));
  const { items } = await caller.github.listApps();
  const app = items.find(({ installations }) => installations.some(({ id }) => id === installationId));
  if (app === undefined) throw new Error('the new GitHub App is not listed');
  return { githubAppId: app.id, installationId };
}
