// Runs one test of the runtime at full length and returns the figures that it prints.
import { run } from '../../tools/lib/command.ts';

const PREFIX = 'network: ';
/** Release build with function names. */
export const PROFILE = 'measure';

export interface Measured {
  readonly profile: string;
  readonly env: Readonly<Record<string, string>>;
  /** Time limit of the test without its build. */
  readonly minutes: number;
}

/** Returns the lines of figures that the test prints; throws when it fails or takes too long. */
export async function measureNetworks(test: string, { profile, env, minutes }: Measured): Promise<string[]> {
  if (process.getuid?.() !== 0) throw new Error('networks of their own need root');
  const cargo = ['test', '--manifest-path', 'agents/Cargo.toml', '--locked', '--profile', profile, '--workspace'];
  const target = [...cargo, '--test', 'runtime'];
  const built = await run('cargo', [...target, '--no-run']);
  if (built.code !== 0) throw new Error(built.output);
  const args = [...target, '--', '--exact', '--nocapture', test];
  const { code, output } = await run('timeout', [`${minutes * 60}`, 'cargo', ...args], { env });
  if (code !== 0) throw new Error(code === 124 ? `not done after ${minutes} minutes:\n${output}` : output);
  // The harness prints the test's name before its first line.
  const lines = output.split('\n').flatMap((line) => line.split(PREFIX).slice(1));
  if (lines.length === 0) throw new Error(`no figures:\n${output}`);
  return lines.map((line) => line.trim());
}
