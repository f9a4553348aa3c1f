// Finds out before anything is started whether a port can be had, and says which option moves it.
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

/** The error code when nothing can listen there. */
function tryPort(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
