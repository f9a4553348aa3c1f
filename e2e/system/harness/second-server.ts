// Adds a server as a person does: pastes the dashboard's command into a shell, then the command that the script prints.
// Runs as an ordinary user, so that it touches nothing outside of the scratch folder.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync } from 'node:fs';
import { freePort } from '../../../tools/lib/free-ports.ts';
import type { Machine } from './machines.ts';

const NOBODY = 65534;
/** Time for which a new agent must hold its link, in seconds: production takes a minute. */
const PROOF_SECONDS = 3;

export interface SecondServer {
  /** Output of the pasted command. */
  readonly output: string;
  /** Stops the agent and starts it again by the printed command. */
  restart(): Promise<void>;
  stop(): Promise<void>;
  /** Stops the agent and removes it from the machine with all data, without the control plane. Returns what it prints. */
  uninstall(): Promise<string>;
}

/**
 * Runs `command` in a shell with the home folder `home`, then starts the agent as the script says. On `machine` it
 * listens on the script's default ports, else on free ports of loopback.
 */
export async function pasteEnrolment(command: string, home: string, machine?: Machine): Promise<SecondServer> {
  const isRoot = process.getuid?.() === 0;
  mkdirSync(home, { recursive: true, mode: 0o755 });
  if (isRoot) chownSync(home, NOBODY, NOBODY);
  const ports =
    machine === undefined
      ? { FAIRLEAD_HTTPS: `127.0.0.1:${await freePort()}`, FAIRLEAD_HTTP: `127.0.0.1:${await freePort()}` }
      : {};
  const env = { PATH: process.env.PATH ?? '', HOME: home, ...ports };
  const asNobody = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];
  const prefix = [...(machine?.prefix ?? []), ...(isRoot ? asNobody : [])];
  const begin = (words: readonly string[], stdio: 'pipe' | 'ignore') => {
    const [program = '', ...args] = [...prefix, ...words];
    return spawn(program, args, { cwd: home, env, stdio });
  };
  const output = await outputOf(begin(['sh', '-c', command], 'pipe'));
  const start = /^fairlead: {3}(\S.*)$/m.exec(output)?.[1]?.split(' ');
  if (start === undefined) throw new Error(`the script names no line that starts the agent:\n${output}`);
  const run = async () => {
    const child = begin([...start, '--stop-apps-on-exit', '--proof-seconds', String(PROOF_SECONDS)], 'ignore');
    await once(child, 'spawn');
    return child;
  };
  let agent = await run();
  const stop = async () => {
    if (agent.exitCode !== null || agent.signalCode !== null) return;
    const exited = once(agent, 'exit');
    agent.kill('SIGTERM');
    await exited;
  };
  return {
    output,
    async restart() {
      await stop();
      agent = await run();
    },
    stop,
    async uninstall() {
      await stop();
      return outputOf(begin([start[0] ?? '', 'uninstall', '--with-data'], 'pipe'));
    },
  };
}

async function outputOf(child: ChildProcess): Promise<string> {
  let output = '';
  const collect = (text: string) => {
    output += text;
  };
  child.stdout?.setEncoding('utf8').on('data', collect);
  child.stderr?.setEncoding('utf8').on('data', collect);
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`the pasted line ended with ${code}:\n${output}`);
  return output;
}
