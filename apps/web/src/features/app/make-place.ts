// Adds an app to another environment in the order that the API requires: the environment, its server, the domain, the
// first release. Pure apart from its client.
import type { useTRPCClient } from '../../api/trpc.tsx';

export interface NewPlace {
  readonly appId: string;
  readonly projectId: string;
  /** Existing environment, or the name of one to create. */
  readonly environment: { readonly id: string } | { readonly name: string; readonly protected: boolean };
  readonly serverId: string;
  readonly branch: string;
  /** Domain; empty for none. */
  readonly host: string;
  /** Live release of the current environment; null builds the branch; undefined deploys nothing. */
  readonly first: { readonly releaseId: string } | null | undefined;
}

export interface MadePlace {
  readonly environmentId: string;
  readonly deploymentId: string | null;
  /** Error of a later step: the app was added, but not everything else. */
  readonly left: unknown;
}

/** Throws only when the app was not added: a partial result is shown, not created twice. */
export async function makePlace(client: ReturnType<typeof useTRPCClient>, wanted: NewPlace): Promise<MadePlace> {
  const { appId, projectId, environment, serverId, branch, host, first } = wanted;
  const environmentId =
    'id' in environment
      ? environment.id
      : (await client.environment.create.mutate({ projectId, ...environment })).environmentId;
  await client.app.attachServer.mutate({ appId, environmentId, serverId, ...(branch === '' ? {} : { branch }) });
  try {
    if (host !== '') await client.domain.attach.mutate({ appId, environmentId, host });
    if (first === undefined) return { environmentId, deploymentId: null, left: null };
    const { deploymentId } =
      first === null
        ? await client.deployment.create.mutate({ appId, environmentId })
        : await client.deployment.promote.mutate({ environmentId, releaseId: first.releaseId });
    return { environmentId, deploymentId, left: null };
  } catch (left) {
    return { environmentId, deploymentId: null, left };
  }
}
