// Listen addresses of the control plane: checks that ports are free before anything starts, and names the option that
// changes each.
import { createServer } from 'node:net';
import { PORTS, type PortName } from './options.mjs';
import type { StartSettings } from './start-settings.ts';

export class PortTaken extends Error {}

export async function requireFreePorts(
  { ports, values }: Pick<StartSettings, 'ports' | 'values'>,
  names: readonly PortName[],
): Promise<void> {
  const hosts: Partial<Record<PortName, string>> = {
    web: values.FAIRLEAD_WEB_HOST,
    gateway: values.FAIRLEAD_GATEWAY_HOST,
  };
  for (const { name, option, what } of PORTS.filter((port) => names.includes(port.name))) {
    const host = hosts[name] ?? '127.0.0.1';
    const code = await tryPort(ports[name], host);
    if (code === undefined) continue;
    const port = ports[name];
    if (code === 'EADDRNOTAVAIL')
      throw new PortTaken(`${host} is no address of this machine: choose another --${name}-host`);
    if (code === 'EACCES')
      throw new PortTaken(`port ${port} (${what}) needs root: choose a port above 1023 with --${option}`);
    throw new PortTaken(
      `port ${port} (${what}) is taken: stop what listens there (ss -ltnp 'sport = :${port}' tells) or choose another with --${option}`,
    );
  }
}

/** Returns the error code when nothing can listen on the port. */
function tryPort(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** Returns the URL at which this machine reaches a plain http listener on the address. */
export function listenerUrl(address: string, port: number): string {
  if (address === '0.0.0.0') return `http://127.0.0.1:${port}`;
  if (address === '::') return `http://[::1]:${port}`;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}
