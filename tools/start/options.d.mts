// Types of options.mjs for the part of `npm start` in TypeScript.
import type { PortName } from '../../packages/settings/src/flags.d.mts';

export { PORTS, type PortName, type PortOption } from '../../packages/settings/src/flags.d.mts';

export interface Options {
  readonly root: string;
  /** Folder of the user. */
  readonly cwd: string;
  readonly agent: string | undefined;
  /** Absolute path; undefined if not given. */
  readonly settingsFile: string | undefined;
  /** Settings by variable, unchecked. */
  readonly flags: Readonly<Record<string, { readonly option: string; readonly value: string }>>;
  readonly reset: boolean;
  readonly yes: boolean;
  /** True to leave apps and proxy running at the end. */
  readonly keepApps: boolean;
  readonly help: boolean;
}

export interface OptionsContext {
  readonly root: string;
  readonly cwd: string;
}

export interface HelpText {
  readonly command: string;
  readonly what: string;
  /** Meaning of `--agent`. */
  readonly agent: string;
  /** Ports that the command does not use. */
  readonly without?: readonly PortName[];
}

export function helpOf(text: HelpText): string;
export const HELP: string;
export class OptionsError extends Error {}
/** Throws OptionsError with one line that says what to do. */
export function parseOptions(args: readonly string[], context: OptionsContext): Options;
