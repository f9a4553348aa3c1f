// Rules of settings: variables, commands, and what opens a server's network. Pure and safe for browsers.
import { commandLine } from '../kernel/command.ts';
import type { Settings, VariableScope } from './schema.ts';

export const variablesMax = 200;
const variableLengthMax = 16_384;
const variableName = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
/** Names that Fairlead sets itself. */
const reservedVariable = /^(?:PORT|FAIRLEAD_.*)$/;

/** Returns a sentence about an invalid name of a plain variable; null for a valid one. */
export function variableNameProblem(name: string): string | null {
  if (!variableName.test(name)) return 'A variable has letters, digits and underscores, and begins with no digit.';
  return reservedVariable.test(name) ? 'Fairlead sets this variable itself.' : null;
}

/** Returns a sentence about an invalid value of a plain variable; null for a valid one. */
export function variableValueProblem(value: string): string | null {
  if (value.length > variableLengthMax) return 'A value has at most 16,384 characters.';
  return value.includes('\0') ? 'A value has no NUL.' : null;
}

/** Returns the variables of a build, or of what runs. */
export function variablesIn(
  { variables }: Pick<Settings, 'variables'>,
  place: Exclude<VariableScope, 'both'>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).flatMap(([name, { value, scope }]) =>
      scope === 'both' || scope === place ? [[name, value]] : [],
    ),
  );
}

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

/** Tells if a release listens on a Unix socket instead of a port. Settings take precedence over a committed fairlead.toml. */
export function listensOnSocket(
  { listen }: Pick<Settings, 'listen'>,
  plan: { readonly listensOnSocket: boolean },
): boolean {
  return listen === 'socket' || (listen === 'auto' && plan.listensOnSocket);
}

/**
 * Returns the settings that are in effect while a release runs: its own, with the newest of those that wait for no
 * deployment.
 */
export function settingsInEffect(ofRelease: Settings, newest: Settings): Settings {
  const { autoscaling, traffic, deploymentUrls, releasesKept } = newest;
  const schedules = new Map(newest.volumes.map(({ name, snapshots }) => [name, snapshots]));
  const volumes = ofRelease.volumes.map((each) => ({ ...each, snapshots: schedules.get(each.name) ?? each.snapshots }));
  return { ...ofRelease, autoscaling, traffic, deploymentUrls, releasesKept, volumes };
}

/** Settings that open a server and its networks to an app. Opening them needs `server.write`. */
export type NetworkSettings = Pick<Settings, 'privateNetwork' | 'serverPorts'>;

export function opensNetwork({ privateNetwork, serverPorts }: NetworkSettings): boolean {
  return privateNetwork || serverPorts.length > 0;
}

/** Reports whether `inner` opens nothing that `outer` keeps closed. */
export function isWithinNetwork(inner: NetworkSettings, outer: NetworkSettings): boolean {
  const isPrivateFine = outer.privateNetwork || !inner.privateNetwork;
  return isPrivateFine && inner.serverPorts.every((port) => outer.serverPorts.includes(port));
}

export function isSameNetwork(a: NetworkSettings, b: NetworkSettings): boolean {
  return isWithinNetwork(a, b) && isWithinNetwork(b, a);
}
