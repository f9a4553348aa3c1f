// Proxy that runs while a third-party suite tests it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface ProxyUnderTest {
  readonly httpsPort: number;
  readonly httpPort: number;
  stop(): Promise<void>;
}

/** Starts `fairlead-protocols stand`, in front of its own app or of the one at `app`. */
export async function startProxy(program: string, app?: string): Promise<ProxyUnderTest> {
  const child = spawn(program, ['stand', ...(app === undefined ? [] : [app])], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('{')) continue;
    const addresses: { https: string; http: string } = JSON.parse(line);
    return {
      httpsPort: portOf(addresses.https),
      httpPort: portOf(addresses.http),
      async stop() {
        child.stdin.end();
        await exited;
      },
    };
  }
  throw new Error('the proxy ended before it served');
}

function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(':') + 1));
}
