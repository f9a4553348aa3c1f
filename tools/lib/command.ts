// Runs other programs for the tools: arguments as a list, never through a shell, in the environment that all tools
// share.
import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { killTree } from './process-identity.ts';

/** Root folder of the repository. */
export const ROOT = join(import.meta.dirname, '../..');

/** Exit code of a program that was ended because it was silent; the same as that of `timeout`. */
export const SILENT_CODE = 124;

export interface CommandResult {
  readonly code: number;
  /** stdout and stderr, interleaved as they arrived. */
  readonly output: string;
  readonly stdout: string;
  readonly elapsedMs: number;
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly onOutput?: (chunk: string) => void;
  readonly signal?: AbortSignal;
  /** Maximum silence in milliseconds before the program and its descendants are ended with `SILENT_CODE`. */
  readonly silenceMs?: number;
  /** Increase of the niceness of the program and its descendants, which then yield to others. */
  readonly niceness?: number;
}

/** Puts the lock file's Node 24 first on PATH, and turns off telemetry. */
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

/** Runs a program to its end. Never throws when it fails: check `code` (127 when it could not start). */
export function run(command: string, args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    let output = '';
    let stdout = '';
    const [program, words] =
      options.niceness === undefined ? [command, args] : ['nice', ['-n', `${options.niceness}`, command, ...args]];
    const child = spawn(program, words, {
      cwd: options.cwd ?? ROOT,
      env: toolEnvironment(options.env),
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(options.signal ? { signal: options.signal } : {}),
    });
    const finish = (code: number) => {
      clearTimeout(silence);
      resolve({ code, output, stdout, elapsedMs: performance.now() - startedAt });
    };
    const silence = options.silenceMs === undefined ? undefined : setTimeout(end, options.silenceMs, options.silenceMs);
    function end(silenceMs: number): void {
      const told = `\n${command}: silent for ${silenceMs / 60_000} minutes, so it was ended\n`;
      output += told;
      options.onOutput?.(told);
      if (child.pid !== undefined) killTree(child.pid);
      // Resolve without waiting for the end of the output: a process that left the tree may hold it open.
      finish(SILENT_CODE);
    }
    const collect = (isStdout: boolean) => (chunk: string) => {
      silence?.refresh();
      output += chunk;
      if (isStdout) stdout += chunk;
      options.onOutput?.(chunk);
    };
    child.stdout.setEncoding('utf8').on('data', collect(true));
    child.stderr.setEncoding('utf8').on('data', collect(false));
    child.once('error', (error) => {
      output += `${command}: ${error.message}\n`;
      finish(127);
    });
    child.once('close', (code, signal) => finish(code ?? (signal === null ? 1 : 128)));
  });
}
