// Makes a new app with everything its form knows, in the order that the API needs: what a build reads must be there before it.
import type { useTRPCClient } from '../../api/trpc.tsx';
import type { Inputs, Settings } from '../../api/types.ts';

export interface NewApp {
  readonly app: Omit<Inputs['app']['create'], 'deployNow'>;
  readonly builder: Settings['builder'];
  /** Of a private repository; null for one that everybody may read. */
  readonly access: { readonly username: string; readonly password: string } | null;
  /** Besides the first. */
  readonly serverIds: readonly string[];
}

export interface MadeApp {
  readonly slug: string;
  readonly deploymentId: string | null;
  /** The app is there, but not all of the rest: what was refused. */
  readonly left: unknown;
}

type Client = ReturnType<typeof useTRPCClient>;

/** Fails only when there is no app afterwards: half of one must be shown, not made twice. */
export async function makeApp(client: Client, { app, builder, access, serverIds }: NewApp): Promise<MadeApp> {
  const isPlain = builder === 'auto' && access === null && serverIds.length === 0;
  const { id: appId, slug, deploymentId } = await client.app.create.mutate({ ...app, deployNow: isPlain });
  if (isPlain) return { slug, deploymentId, left: null };
  try {
    if (access !== null) await client.credential.update.mutate({ appId, kind: 'https', ...access });
    if (builder !== 'auto') await client.config.update.mutate({ appId, settings: { builder } });
    for (const serverId of serverIds) await client.app.attachServer.mutate({ appId, serverId });
    const deployed = await client.deployment.create.mutate({ appId });
    return { slug, deploymentId: deployed.deploymentId, left: null };
  } catch (error) {
    return { slug, deploymentId: null, left: error };
  }
}
