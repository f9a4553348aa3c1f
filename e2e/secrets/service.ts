// Process of the control plane: started as in production, with its whole output recorded.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ROOT } from '../../tools/lib/command.ts';
import { nodeOf } from '../../tools/lib/install.mjs';

export interface Service {
  readonly name: string;
  readonly ready: Promise<void>;
  output(): Buffer[];
  end(): Promise<void>;
}

export function startService(name: string, env: Record<string, string>): Service {
  const child: ChildProcess = spawn(
    nodeOf(ROOT),
    ['--disable-warning=ExperimentalWarning', join(ROOT, `apps/${name}/src/main.ts`)],
    {
      cwd: ROOT,
      env: { PATH: process.env.PATH ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const chunks: Buffer[] = [];
  const ready = Promise.withResolvers<void>();
  const hear = (chunk: Buffer) => {
    chunks.push(chunk);
    if (Buffer.concat(chunks).includes('"msg":"ready"')) ready.resolve();
  };
  child.stdout?.on('data', hear);
  child.stderr?.on('data', hear);
  child.once('exit', (code) => ready.reject(new Error(`the ${name} ended with ${code}: ${Buffer.concat(chunks)}`)));
  return {
    name,
    ready: ready.promise,
    output: () => chunks,
    end: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}
