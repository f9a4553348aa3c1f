// Owns which words of desired state which agent understands. Pure. An agent refuses the whole state for one capability that
// it lacks, so words that need one go only to agents that told it.
import type { Settings } from '../config/index.ts';

/** The first capability that these settings need and the agent did not tell; null: it has all. */
export function missingCapability(settings: Settings, capabilities: readonly string[]): string | null {
  return neededCapabilities(settings).find((needed) => !capabilities.includes(needed)) ?? null;
}

export function neededCapabilities(settings: Settings): string[] {
  const { builder, health, liveness, rollout, volumes, workers } = settings;
  const needs: (readonly [string, boolean])[] = [
    ['build.plan', needsPlan(settings)],
    ['container', builder === 'image' || builder === 'dockerfile'],
    ['worker', workers.length > 0],
    ['liveness', liveness !== null || health?.kind === 'command'],
    ['volume', volumes.length > 0],
    ['rollout', rollout.kind !== 'all'],
    ['hook', settings.releaseCommand !== null || settings.afterCommand !== null],
    ['scale', settings.scale !== null],
  ];
  return needs.flatMap(([name, needed]) => (needed ? [name] : []));
}

/** Words of a build beyond repository, ref and root folder. */
export function needsPlan(settings: Settings): boolean {
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
