// Creates an app from its form in the order that the API requires: the build's inputs come before the build.
import type { useTRPCClient } from '../../api/trpc.tsx';
import type { Inputs, Settings } from '../../api/types.ts';

/** Input for a new app and its first deployment. */
export interface NewApp {
  readonly app: Omit<Inputs['app']['create'], 'deployNow'>;
  readonly settings: Partial<Pick<Settings, 'builder' | 'image' | 'installCommand' | 'buildCommand' | 'outputFolder'>>;
  /** Secrets to store before the first deployment, which reads them. */
  readonly secrets: Inputs['secret']['update']['items'];
  /** Credentials of a private source; null for a public one. */
  readonly access: Omit<Inputs['credential']['update'], 'appId'> | null;
  /** Servers besides the first. */
  readonly serverIds: readonly string[];
  /**
   * First deployment. `key`: creates a deploy key, which its owner must add to the host before anything is deployed.
   */
  readonly first: 'deploy' | 'key' | ((appId: string) => Promise<string>);
}

export interface MadeApp {
  readonly appId: string;
  readonly slug: string;
  readonly deploymentId: string | null;
  /** Public key of the app's deploy key. */
  readonly publicKey: string | null;
  /** Error of a later step: the app was created, but not everything else. */
  readonly left: unknown;
}

type Client = ReturnType<typeof useTRPCClient>;

/** Calls that store the credentials of the app's source. They may ask for a fresh session. */
export interface SourceCalls {
  readonly setPassword: (input: Inputs['credential']['update']) => Promise<unknown>;
  readonly makeKey: (input: Inputs['credential']['rotateKey']) => Promise<{ readonly publicKey: string }>;
}

/** Throws only when no app was created: a partial app is shown, not created twice. */
export async function makeApp(
  client: Client,
  source: SourceCalls,
  { app, settings, secrets, access, serverIds, first }: NewApp,
): Promise<MadeApp> {
  const hasSettings = Object.keys(settings).length > 0;
  const isPlain =
    first === 'deploy' && !hasSettings && secrets.length === 0 && access === null && serverIds.length === 0;
  const { id: appId, slug, deploymentId } = await client.app.create.mutate({ ...app, deployNow: isPlain });
  const made = { appId, slug, deploymentId, publicKey: null, left: null };
  if (isPlain) return made;
  try {
    if (hasSettings) await client.config.update.mutate({ appId, settings });
    if (secrets.length > 0) await client.secret.update.mutate({ owner: { appId }, items: secrets });
    // The password is bound to the host of the source, which the settings of an image name.
    if (access !== null) await source.setPassword({ appId, ...access });
    for (const serverId of serverIds) await client.app.attachServer.mutate({ appId, serverId });
    if (first === 'key') {
      const { publicKey } = await source.makeKey({ appId });
      return { ...made, publicKey };
    }
    // An upload needs an existing app.
    const upload = first === 'deploy' ? {} : { uploadDigest: await first(appId) };
    const deployed = await client.deployment.create.mutate({ appId, ...upload });
    return { ...made, deploymentId: deployed.deploymentId };
  } catch (error) {
    return { ...made, left: error };
  }
}
