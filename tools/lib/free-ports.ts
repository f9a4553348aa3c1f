// Free ports for a product of a test: below the ephemeral range, so that no outgoing connection takes one in between, and
// outside 20000–29999, which the agent gives to apps. Test files run beside each other, and what starts next may listen
// later than it was promised: each worker of vitest has a share of the range, and who is none has one too.
import { createServer } from 'node:net';
import { PORTS, type PortName } from '../start/options.mjs';

export async function freePorts(): Promise<Record<PortName, number>> {
  const ports: Partial<Record<PortName, number>> = {};
  for (const { name } of PORTS) ports[name] = await freePort();
  return ports as Record<PortName, number>;
}

const SHARES = 4;
const SHARE_SIZE = 10_000 / SHARES;
const FIRST = 10_000 + (Number(process.env.VITEST_POOL_ID ?? 0) % SHARES) * SHARE_SIZE;
const given = new Set<number>();

export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = FIRST + Math.floor(Math.random() * SHARE_SIZE);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
  throw new Error('no free port found');
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
