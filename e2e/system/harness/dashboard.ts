// Typed clients of a system's built API over HTTP, one for each member of its organization.
import type { AppRouter } from '@fairlead/api';
import type { AppId, DeploymentId, EnvironmentId } from '@fairlead/contract/ids';
import type { AppDetail } from '@fairlead/core/app';
import type { DeploymentDetail } from '@fairlead/core/deployment';
import type { CreateInvitationInput } from '@fairlead/core/invitation';
import { createTRPCClient, httpLink, type TRPCClient } from '@trpc/client';
import superjson from 'superjson';
import { ADA, claimSetup, openSession, type Person } from '../../../tools/lib/dashboard-client.ts';
import { waitFor } from '../../../tools/lib/wait.ts';
import type { Repository } from './repository.ts';
import type { System } from './system.ts';

export type Member = TRPCClient<AppRouter>;
type Settings = Parameters<Member['config']['update']['mutate']>[0]['settings'];

export interface AppOptions {
  readonly settings?: Settings;
  /** Default: the environment in which the organization began. */
  readonly environmentId?: EnvironmentId;
}

/** An app in one of its environments. */
export interface Placement {
  readonly appId: AppId;
  readonly environmentId?: EnvironmentId;
}

/** Poll interval that keeps many concurrent tests below the API's rate limit. */
const EVERY_MS = 500;
const DEPLOY_TIMEOUT_MS = 180_000;

export class Dashboard {
  readonly owner: Member;
  readonly #system: System;
  readonly #organization: string;

  private constructor(system: System, organization: string, owner: Member) {
    this.#system = system;
    this.#organization = organization;
    this.owner = owner;
  }

  /** Creates the owner's account in a system that was started with a dashboard. */
  static async open(system: System): Promise<Dashboard> {
    const url = system.controlPlane.publicUrl;
    const token = await system.product.rotateSetupToken();
    if (token === null) throw new Error('the organization has an owner already');
    const organization = await claimSetup(url, token, ADA);
    return new Dashboard(system, organization, await connect(url, organization, ADA));
  }

  /** Invites a person by link, who joins and signs in. */
  async addMember(person: Person, role: CreateInvitationInput['role']): Promise<Member> {
    const { url } = await this.owner.invitation.create.mutate({ role });
    const token = url?.split('#token=')[1];
    if (token === undefined) throw new Error('the invitation has no link');
    await this.owner.invitation.claim.mutate({ token, ...person });
    return connect(this.#system.controlPlane.publicUrl, this.#organization, person);
  }

  /** Creates an app with the host `<slug>.localhost`, not deployed yet. */
  async createApp(
    slug: string,
    repository: Pick<Repository, 'url'>,
    { settings, environmentId }: AppOptions = {},
  ): Promise<AppId> {
    const { id: appId } = await this.owner.app.create.mutate({
      name: slug,
      source: { kind: 'git', repositoryUrl: repository.url },
      healthPath: '/up',
      serverIds: [await this.#system.serverId()],
      domain: { host: `${slug}.localhost` },
      firstDeploy: 'none',
      ...(environmentId === undefined ? {} : { environmentId }),
      ...(settings === undefined ? {} : { settings }),
    });
    return appId;
  }

  /** Deploys the newest commit as the owner, and waits for the end. */
  async deploy(placement: Placement): Promise<DeploymentDetail> {
    const { deploymentId } = await this.owner.deployment.create.mutate(placement);
    return this.ended(deploymentId);
  }

  ended(deploymentId: DeploymentId): Promise<DeploymentDetail> {
    return this.deploymentWith(deploymentId, ({ finishedAt }) => finishedAt !== null, 'the end');
  }

  /** Waits until `is` accepts the page of the deployment. */
  deploymentWith(
    deploymentId: DeploymentId,
    is: (deployment: DeploymentDetail) => boolean,
    what: string,
  ): Promise<DeploymentDetail> {
    return waitFor(
      async () => {
        const deployment = await this.owner.deployment.get.query({ deploymentId });
        return is(deployment) && deployment;
      },
      { what: `${what} of the deployment ${deploymentId}`, timeoutMs: DEPLOY_TIMEOUT_MS, everyMs: EVERY_MS },
    );
  }

  /** Waits until `is` accepts the page of the app. */
  appWith(slug: string, is: (app: AppDetail) => boolean, what: string): Promise<AppDetail> {
    return waitFor(
      async () => {
        const app = await this.owner.app.get.query({ slug });
        return is(app) && app;
      },
      { what: `${what} of the app ${slug}`, timeoutMs: DEPLOY_TIMEOUT_MS, everyMs: EVERY_MS },
    );
  }

  /** Waits until the log of a deployment has this line, as it can arrive after the state, and returns all lines. */
  logWith(deploymentId: DeploymentId, line: string): Promise<readonly string[]> {
    return waitFor(
      async () => {
        const { lines } = await this.owner.deployment.log.query({ deploymentId, limit: 5000 });
        const texts = lines.map(({ text }) => text);
        return texts.includes(line) && texts;
      },
      { what: `the line "${line}" in the log of the deployment ${deploymentId}`, timeoutMs: DEPLOY_TIMEOUT_MS },
    );
  }
}

async function connect(url: string, organization: string, person: Person): Promise<Member> {
  const headers = { cookie: await openSession(url, person), origin: url, 'x-fairlead-organization': organization };
  return createTRPCClient<AppRouter>({
    links: [httpLink({ url: `${url}/api/trpc`, headers, transformer: superjson })],
  });
}
