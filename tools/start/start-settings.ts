// Settings of one `npm start`: what its sources give, and the values that the start itself uses.
import { type Environment, type Given, PORTS, type PortName, readEnvironment } from '@fairlead/settings';
import { loadSettings } from '@fairlead/settings/load';
import { type Options, OptionsError } from './options.mjs';
import { withServedPorts } from './served-url.ts';

export interface StartSettings {
  /** Settings that a source gives, and the ports of a served public URL. */
  readonly given: Given;
  /** Settings file that was read. */
  readonly file: string | undefined;
  readonly values: Environment<'start'>;
  readonly ports: Readonly<Record<PortName, number>>;
}

/** Throws an error for the user when a setting is wrong. */
export function readStartSettings(
  { flags, settingsFile, cwd }: Options,
  env: Readonly<Record<string, string | undefined>>,
): StartSettings {
  const { given: chosen, file } = loadSettings({ flags, file: settingsFile, env, cwd });
  const given = withServedPorts(chosen);
  const values = readEnvironment('start', given);
  const ports = Object.fromEntries(PORTS.map(({ name, variable }) => [name, values[variable]]));
  for (const { name, option } of PORTS) {
    const twin = PORTS.find((other) => other.name !== name && ports[other.name] === ports[name]);
    if (twin !== undefined)
      throw new OptionsError(`--${option} and --${twin.option} are both ${ports[name]}: choose two different ports`);
  }
  return { given, file, values, ports: ports as Record<PortName, number> };
}
