// Hosts of the control plane on the local server's proxy.
import type { Environment } from '@fairlead/settings';

export interface ControlHost {
  readonly host: string;
  /** True: no app has a host below it either. */
  readonly reservesBelow: boolean;
}

/** Returns the hosts under which the local server's proxy serves the control plane: its own, and that of an https URL. */
export function controlHosts(
  env: Pick<Environment<'gateway'>, 'FAIRLEAD_CONTROL_HOST' | 'FAIRLEAD_PUBLIC_URL'>,
): ControlHost[] {
  const { protocol, hostname } = new URL(env.FAIRLEAD_PUBLIC_URL);
  const own = env.FAIRLEAD_CONTROL_HOST;
  // Apps may have hosts below the public one: no sibling host can set the `__Host-` cookies of an https URL.
  const hosts = [
    { host: own, reservesBelow: true },
    { host: protocol === 'https:' && hostname !== own ? hostname : '', reservesBelow: false },
  ];
  return hosts.filter(({ host }) => host !== '');
}
