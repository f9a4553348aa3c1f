// Requires `server.write` in the organization to open a server's network to an app, because that concerns everything on the
// server. Each `find` locks the app, so that the settings it compares are those that the resolver finds.

import type { ErrorCode } from '@fairlead/contract/errors';
import type { DeploymentId, ReleaseId } from '@fairlead/contract/ids';
import type { AddEnvironmentInput, CreateAppInput } from '@fairlead/core/app';
import {
  type ConfigVersionInput,
  findConfigVersion,
  findNewestConfig,
  isSameNetwork,
  isWithinNetwork,
  loadSettings,
  opensNetwork,
  type UpdateConfigInput,
} from '@fairlead/core/config';
import type { OrganizationCtx } from '@fairlead/core/kernel';
import { findPlacement, lockApps, type PlacementInput } from '@fairlead/core/placement';
import type { AlsoNeeds } from './scopes.ts';

function needsServerWrite<Input>(
  when: string,
  {
    reads,
    denied,
    opens,
  }: {
    readonly reads: readonly (keyof Input & string)[];
    readonly denied: ErrorCode;
    readonly opens: (core: OrganizationCtx, input: Input) => Promise<boolean>;
  },
): AlsoNeeds<Input> {
  return {
    words: `\`server.write\` in the organization, fresh session, ${when}`,
    permissions: ['server.write'],
    denials: [denied],
    reads,
    find: async (core, input) =>
      (await opens(core, input)) ? [{ anyOf: ['server.write'], scope: null, denied, fresh: true }] : [],
  };
}

/** Settings that stay the same need no permission: a form may send all of them. */
export const changesNetwork = needsServerWrite<UpdateConfigInput>('to change `privateNetwork` or `serverPorts`', {
  reads: ['appId', 'environmentId'],
  denied: 'config.network_closed',
  opens: async (core, { settings: { privateNetwork, serverPorts }, ...input }) => {
    if (privateNetwork === undefined && serverPorts === undefined) return false;
    await lockApps(core, [input.appId]);
    const placement = await findPlacement(core, input);
    if (placement === null) return false;
    const { settings } = await findNewestConfig(core, placement);
    const wanted = {
      privateNetwork: privateNetwork ?? settings.privateNetwork,
      serverPorts: serverPorts ?? settings.serverPorts,
    };
    return !isSameNetwork(settings, wanted);
  },
});

/** An earlier version may open access that was closed since. */
export const restoresNetwork = needsServerWrite<ConfigVersionInput>(
  'if the version changes `privateNetwork` or `serverPorts`',
  {
    reads: ['appId', 'environmentId'],
    denied: 'config.network_closed',
    opens: async (core, { number, ...input }) => {
      await lockApps(core, [input.appId]);
      const placement = await findPlacement(core, input);
      if (placement === null) return false;
      const version = await findConfigVersion(core, placement, number);
      if (version === null) return false;
      return !isSameNetwork((await findNewestConfig(core, placement)).settings, version.settings);
    },
  },
);

const wider = 'if the release opens more of the network than the settings do now';

/** A release has its own settings, including access that was closed since. */
export const reopensNetwork = needsServerWrite<PlacementInput & { readonly releaseId: ReleaseId }>(wider, {
  reads: ['appId', 'environmentId', 'releaseId'],
  denied: 'release.network_closed',
  opens: async (core, { appId, releaseId }) => {
    await lockApps(core, [appId]);
    return opensMore(core, { appId, releaseId });
  },
});

/** Restarts and newer secrets bring the settings of the live release along. */
export const keepsNetworkOpen = needsServerWrite<PlacementInput>(
  'if the live release opens more of the network than the settings do now',
  {
    reads: ['appId', 'environmentId'],
    denied: 'release.network_closed',
    opens: async (core, input) => {
      const { appId } = input;
      await lockApps(core, [appId]);
      const releaseId = (await findPlacement(core, input))?.liveReleaseId ?? null;
      return releaseId !== null && opensMore(core, { appId, releaseId });
    },
  },
);

export const retriesReopening = needsServerWrite<{ readonly deploymentId: DeploymentId }>(wider, {
  reads: ['deploymentId'],
  denied: 'release.network_closed',
  opens: async (core, { deploymentId }) => {
    const { tx, organizationId } = core;
    const row = await tx.deployment.findFirst({
      where: { id: deploymentId, organizationId },
      select: { appId: true, releaseId: true },
    });
    if (row === null || row.releaseId === null) return false;
    await lockApps(core, [row.appId]);
    return opensMore(core, { appId: row.appId, releaseId: row.releaseId });
  },
});

/** The added server runs the newest settings or, before the next build, those of the live release. */
export const opensAnotherServer = needsServerWrite<PlacementInput>(
  'for an app with private network access or server ports',
  {
    reads: ['appId', 'environmentId'],
    denied: 'placement.network_closed',
    opens: async (core, input) => {
      const { tx, organizationId } = core;
      const { appId } = input;
      await lockApps(core, [appId]);
      const placement = await findPlacement(core, input);
      if (placement === null) return false;
      const { environmentId } = placement;
      if (opensNetwork((await findNewestConfig(core, placement)).settings)) return true;
      const live = await tx.placementServer.findMany({
        where: { placement: { appId, environmentId }, organizationId },
        select: { liveRelease: { select: { configId: true } } },
      });
      for (const { liveRelease } of live) {
        if (liveRelease !== null && opensNetwork(await loadSettings(core, liveRelease.configId))) return true;
      }
      return false;
    },
  },
);

/** A further environment starts with the settings of the primary one, or with those that the app had there before. */
export const opensAnotherEnvironment = needsServerWrite<Pick<AddEnvironmentInput, 'appId' | 'environment'>>(
  'for an app with private network access or server ports',
  {
    reads: ['appId', 'environment'],
    denied: 'placement.network_closed',
    opens: async (core, { appId, environment }) => {
      await lockApps(core, [appId]);
      const primary = await findPlacement(core, { appId });
      if (primary === null) return false;
      const before = environment.kind === 'new' ? null : await findNewestConfig(core, { appId, ...environment });
      const { settings } = before === null || before.id === null ? await findNewestConfig(core, primary) : before;
      return opensNetwork(settings);
    },
  },
);

export const opensNewApp = needsServerWrite<Pick<CreateAppInput, 'settings'>>(
  'to set `privateNetwork` or `serverPorts`',
  {
    reads: ['settings'],
    denied: 'config.network_closed',
    opens: async (_core, { settings: { privateNetwork = false, serverPorts = [] } }) =>
      opensNetwork({ privateNetwork, serverPorts }),
  },
);

/** Compares a release with the newest settings of its environment. */
async function opensMore(
  core: OrganizationCtx,
  { appId, releaseId }: { readonly appId: string; readonly releaseId: string },
): Promise<boolean> {
  const { tx, organizationId } = core;
  const release = await tx.release.findFirst({
    where: { id: releaseId, appId, organizationId },
    select: { environmentId: true, configId: true },
  });
  if (release === null) return false;
  const { environmentId } = release;
  const { settings } = await findNewestConfig(core, { appId, environmentId });
  return !isWithinNetwork(await loadSettings(core, release.configId), settings);
}
