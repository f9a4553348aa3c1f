// Compares what two versions of settings open of a server's network. Pure. Opening it needs `server.write`.
import type { Settings } from './schema.ts';

/** Settings that open a server and its networks to an app. */
export type NetworkSettings = Pick<Settings, 'privateNetwork' | 'serverPorts'>;

export function opensNetwork({ privateNetwork, serverPorts }: NetworkSettings): boolean {
  return privateNetwork || serverPorts.length > 0;
}

/** Reports whether `inner` opens nothing that `outer` keeps closed. */
export function isWithinNetwork(inner: NetworkSettings, outer: NetworkSettings): boolean {
  const isPrivateFine = outer.privateNetwork || !inner.privateNetwork;
  return isPrivateFine && inner.serverPorts.every((port) => outer.serverPorts.includes(port));
}

export function isSameNetwork(a: NetworkSettings, b: NetworkSettings): boolean {
  return isWithinNetwork(a, b) && isWithinNetwork(b, a);
}
