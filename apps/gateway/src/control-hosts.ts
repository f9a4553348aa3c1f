// Hosts of the control plane on the local server's proxy.
import type { Environment } from '@fairlead/settings';

/** Returns the hosts under which the local server's proxy serves the control plane: its own, and that of an https URL. */
export function controlHosts(
  env: Pick<Environment<'gateway'>, 'FAIRLEAD_CONTROL_HOST' | 'FAIRLEAD_PUBLIC_URL'>,
): string[] {
  const { protocol, hostname } = new URL(env.FAIRLEAD_PUBLIC_URL);
  const hosts = [env.FAIRLEAD_CONTROL_HOST, protocol === 'https:' ? hostname : ''];
  return [...new Set(hosts.filter((host) => host !== ''))];
}
