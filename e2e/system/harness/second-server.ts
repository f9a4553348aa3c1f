// Adds a server as a person does: pastes the dashboard's command into a shell, then the command that the script prints.
// Runs as an ordinary user, so that it touches nothing outside of the scratch folder.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync } from 'node:fs';
import { freePort } from '../../../tools/lib/free-ports.ts';

const NOBODY = 65534;

export interface SecondServer {
  /** Output of the pasted command. */
  readonly output: string;
  stop(): Promise<void>;
}

/** Runs `command` in a shell with the home folder `home`, then starts the agent as the script says. */
export async function pasteEnrolment(command: string, home: string): Promise<SecondServer> {
  const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  mkdirSync(home, { recursive: true, mode: 0o755 });
  if (user.uid !== undefined) chownSync(home, user.uid, user.gid);
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    FAIRLEAD_HTTPS: `127.0.0.1:${await freePort()}`,
    FAIRLEAD_HTTP: `127.0.0.1:${await freePort()}`,
  };
  const output = await outputOf(spawn('sh', ['-c', command], { cwd: home, env, ...user }));
  const [program, ...args] = /^fairlead: {3}(\S.*)$/m.exec(output)?.[1]?.split(' ') ?? [];
  if (program === undefined) throw new Error(`the script names no line that starts the agent:\n${output}`);
  const agent = spawn(program, [...args, '--stop-apps-on-exit'], { cwd: home, env, stdio: 'ignore', ...user });
  await once(agent, 'spawn');
  return {
    output,
    async stop() {
      if (agent.exitCode !== null || agent.signalCode !== null) return;
      const exited = once(agent, 'exit');
      agent.kill('SIGTERM');
      await exited;
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
