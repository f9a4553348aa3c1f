// Commands that the settings of an app run beside its start command. Pure.
import { commandLine } from '../kernel/command.ts';
import type { Settings } from './schema.ts';
import { variablesIn } from './variables.ts';

/** A line each, of the settings of all environments: an artifact may be promoted to each of them. `start` is the build's own start command. */
export function runCommandsIn(all: readonly Settings[], start: readonly string[]): string[] {
  const commands = all.flatMap(({ startCommand, workers, releaseCommand, afterCommand, health, liveness }) => [
    startCommand,
    ...workers.map(({ command }) => command),
    ...[releaseCommand, afterCommand].flatMap((hook) => (hook === null ? [] : [hook.command])),
    ...[health, liveness].flatMap((check) => (check?.kind === 'command' ? [check.command] : [])),
  ]);
  const options = all.flatMap((settings) => variablesIn(settings, 'run').NODE_OPTIONS ?? []);
  const lines = [...commands.map(commandLine), ...options].filter((line) => line !== '' && line !== commandLine(start));
  return [...new Set(lines)];
}
