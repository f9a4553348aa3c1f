// Types of options.mjs for the part of `npm start` in TypeScript.
export type PortName = 'web' | 'gateway' | 'source' | 'https' | 'http' | 'database';

export interface PortOption {
  readonly name: PortName;
  readonly option: string;
  readonly default: number;
  readonly what: string;
}

export interface Options {
  readonly root: string;
  /** Absolute path; undefined if not given. */
  readonly data: string | undefined;
  readonly agent: string | undefined;
  readonly databaseUrl: string | undefined;
  readonly reset: boolean;
  readonly yes: boolean;
  readonly help: boolean;
  /** Origin under which other machines reach the control plane; undefined for this machine only. */
  readonly publicUrl: string | undefined;
  /** Listen address of the local agent's proxy. With a wildcard, the proxy serves the public URL itself. */
  readonly listen: '127.0.0.1' | '[::]';
  readonly ports: Readonly<Record<PortName, number>>;
}

export interface OptionsContext {
  readonly root: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export const PORTS: readonly PortOption[];
export const HELP: string;
export class OptionsError extends Error {}
/** Throws OptionsError with one line that says what to do. */
export function parseOptions(args: readonly string[], context: OptionsContext): Options;
