// Checks that ports are free before anything starts, and names the option that changes each.
import { createServer } from 'node:net';
import type { PortName } from './options.mjs';
import { PORTS } from './options.mjs';

export class PortTaken extends Error {}

export async function requireFreePorts(
  ports: Readonly<Record<PortName, number>>,
  names: readonly PortName[],
): Promise<void> {
  for (const { name, option, what } of PORTS.filter((port) => names.includes(port.name))) {
    const code = await tryPort(ports[name]);
    if (code === undefined) continue;
    const port = ports[name];
    if (code === 'EACCES')
      throw new PortTaken(`port ${port} (${what}) needs root: choose a port above 1023 with --${option}`);
    throw new PortTaken(
      `port ${port} (${what}) is taken: stop what listens there (ss -ltnp 'sport = :${port}' tells) or choose another with --${option}`,
    );
  }
}

/** Returns the error code when nothing can listen on the port. */
function tryPort(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
