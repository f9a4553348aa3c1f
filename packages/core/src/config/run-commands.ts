// Commands in the settings of an app, with NODE_OPTIONS: builds keep the packages that they name. Pure.
import { commandLine } from '../kernel/command.ts';
import type { Settings } from './schema.ts';
import { variablesIn } from './variables.ts';

/** Returns a line for each, of all environments: an artifact may be promoted to any. Omits `start`, the build's own start command. */
export function runCommandsIn(all: readonly Settings[], start: readonly string[]): string[] {
  const commands = all.flatMap(
    ({ startCommand, workers, releaseCommand, postReleaseCommand, readinessCheck, livenessCheck }) => [
      startCommand,
      ...workers.map(({ command }) => command),
      ...[releaseCommand, postReleaseCommand].flatMap((hook) => (hook === null ? [] : [hook.command])),
      ...[readinessCheck, livenessCheck].flatMap((check) => (check?.kind === 'command' ? [check.command] : [])),
    ],
  );
  const options = all.flatMap((settings) => variablesIn(settings, 'run').NODE_OPTIONS ?? []);
  const lines = [...commands.map(commandLine), ...options].filter((line) => line !== '' && line !== commandLine(start));
  return [...new Set(lines)];
}
