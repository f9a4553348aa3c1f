// Runs other programs for the tools: arguments as a list, never a shell, and the environment every tool shares.
import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';

/** The repository's root. */
export const ROOT = join(import.meta.dirname, '../..');

export interface CommandResult {
  readonly code: number;
  /** stdout and stderr, as they came. */
  readonly output: string;
  readonly stdout: string;
  readonly elapsedMs: number;
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly onOutput?: (chunk: string) => void;
  readonly signal?: AbortSignal;
}

/** Node 24 of the lock file first on PATH, and no tool that phones home. */
export function toolEnvironment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  const inherited = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    ...Object.fromEntries(inherited),
    PATH: `${join(ROOT, 'node_modules/.bin')}${delimiter}${process.env.PATH ?? ''}`,
    NEXT_TELEMETRY_DISABLED: '1',
    TURBO_TELEMETRY_DISABLED: '1',
    DO_NOT_TRACK: '1',
    CHECKPOINT_DISABLE: '1',
    npm_config_loglevel: 'error',
    ...extra,
  };
}

/** Runs to the end and never throws for a failing program: the caller reads `code` (127 when it could not start). */
export function run(command: string, args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    let output = '';
    let stdout = '';
    const child = spawn(command, args, {
      cwd: options.cwd ?? ROOT,
      env: toolEnvironment(options.env),
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(options.signal ? { signal: options.signal } : {}),
    });
    const collect = (isStdout: boolean) => (chunk: string) => {
      output += chunk;
      if (isStdout) stdout += chunk;
      options.onOutput?.(chunk);
    };
    child.stdout.setEncoding('utf8').on('data', collect(true));
    child.stderr.setEncoding('utf8').on('data', collect(false));
    const finish = (code: number) => resolve({ code, output, stdout, elapsedMs: performance.now() - startedAt });
    child.once('error', (error) => {
      output += `${command}: ${error.message}\n`;
      finish(127);
    });
    child.once('close', (code, signal) => finish(code ?? (signal === null ? 1 : 128)));
  });
}
