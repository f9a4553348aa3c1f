// Free ports for a product of a test: below the ephemeral range, so that no outgoing connection takes one in between, and
// outside 20000–29999, which the agent gives to apps.
import { createServer } from 'node:net';
import { PORTS, type PortName } from '../start/options.mjs';

export async function freePorts(): Promise<Record<PortName, number>> {
  const ports: Partial<Record<PortName, number>> = {};
  for (const { name } of PORTS) ports[name] = await freePort();
  return ports as Record<PortName, number>;
}

const FIRST = 10_000;
const LAST = 19_999;
const given = new Set<number>();

export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
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
