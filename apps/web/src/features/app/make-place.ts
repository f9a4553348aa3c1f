// Brings an app into another environment, in the order that the API needs: the environment, its server, the domain, the first
// release. Pure but for the client that it is given.
import type { useTRPCClient } from '../../api/trpc.tsx';

export interface NewPlace {
  readonly appId: string;
  readonly projectId: string;
  /** One that exists, or the name of one to make. */
  readonly environment: { readonly id: string } | { readonly name: string; readonly protected: boolean };
  readonly serverId: string;
  readonly branch: string;
  /** Empty: none yet. */
  readonly host: string;
  /** The live release of where the app is looked at; null builds the branch; undefined leaves it for later. */
  readonly first: { readonly releaseId: string } | null | undefined;
}

export interface MadePlace {
  readonly environmentId: string;
  readonly deploymentId: string | null;
  /** The app is there, but not all of the rest: what was refused. */
  readonly left: unknown;
}

/** Fails only when the app is not there afterwards: half of it must be shown, not made twice. */
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
