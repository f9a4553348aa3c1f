// Capabilities of agents. Pure.
// Invariant: messages that need a capability go only to agents that reported it, because an agent refuses the whole
// state for one that it lacks.
import { opensNetwork, type Settings } from '../config/index.ts';
import { isPlainTraffic } from '../traffic/index.ts';

type Needs = readonly (readonly [name: string, needed: boolean])[];

/** Returns the first capability that these settings need and the agent did not report; null: it has all. */
export function missingCapability(settings: Settings, capabilities: readonly string[]): string | null {
  const { readinessCheck, livenessCheck, rollout, volumes, workers } = settings;
  return firstMissing(capabilities, [
    ['worker', workers.length > 0],
    ['liveness', livenessCheck !== null || readinessCheck?.kind === 'command'],
    ['volume', volumes.length > 0],
    ['network', opensNetwork(settings)],
    ['rollout', rollout.kind !== 'blue_green'],
    ['hook', settings.releaseCommand !== null || settings.postReleaseCommand !== null],
    ['autoscaling', settings.autoscaling !== null],
    ['traffic', !isPlainTraffic(settings.traffic)],
  ]);
}

export interface BuildSource {
  readonly isUpload: boolean;
  readonly isSsh: boolean;
  readonly hasCredentials: boolean;
  /** Some are marked for builds. */
  readonly hasSecrets: boolean;
  /** It names no branch, tag or commit. */
  readonly isDefaultBranch: boolean;
}

/** The same of building. */
export function missingBuildCapability(
  settings: Settings,
  capabilities: readonly string[],
  { isUpload, isSsh, hasCredentials, hasSecrets, isDefaultBranch }: BuildSource,
): string | null {
  const { builder } = settings;
  return firstMissing(capabilities, [
    ['build.plan', needsPlan(settings) || isUpload || isSsh || hasCredentials || hasSecrets],
    // Variables of both scopes reached no build before, so an agent without it works as before.
    ['build.variables', Object.values(settings.variables).some(({ scope }) => scope === 'build')],
    ['build.default_branch', isDefaultBranch && builder !== 'image'],
    ['transfer', isUpload],
    ['container', builder === 'image' || builder === 'dockerfile'],
  ]);
}

/** Returns a sentence that says what to do when a server lacks a capability. */
export function missingCapabilityMessage(serverName: string, capability: string): string {
  return capability === 'container'
    ? `${serverName} has no container engine that answers, and this app runs as a container. Install Docker on ${serverName}; a minute later, deploy again.`
    : `The agent of ${serverName} lacks “${capability}”, which the settings of this app need. Upgrade it, then deploy again.`;
}

function firstMissing(capabilities: readonly string[], needs: Needs): string | null {
  return needs.find(([name, needed]) => needed && !capabilities.includes(name))?.[0] ?? null;
}

/** Words of a build beyond repository, ref and root folder. */
function needsPlan(settings: Settings): boolean {
  const { builder, installCommand, buildCommand, dockerfile, image, outputFolder } = settings;
  return (
    builder !== 'auto' ||
    installCommand.length > 0 ||
    buildCommand.length > 0 ||
    dockerfile !== '' ||
    image !== '' ||
    outputFolder !== ''
  );
}
