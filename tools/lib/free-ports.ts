// Free ports for a test's product: below the ephemeral range, and outside 20000–29999, which the agent gives to apps.
// Each vitest worker and each other process has a range of its own, because a port may be bound long after it is
// picked.
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
