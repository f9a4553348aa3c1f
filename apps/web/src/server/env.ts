// Environment of the web process, and the addresses that follow from it. Nothing else in the app reads process.env.
import { type Environment, readEnvironment } from '@fairlead/settings';

export type WebEnv = Environment<'web'>;

/** Throws one error that names every missing or invalid setting, never its value. */
export function readEnv(source: Readonly<Record<string, string | undefined>>): WebEnv {
  return readEnvironment('web', source);
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/** No client has this address. */
const NO_ADDRESS = '0.0.0.0';

/**
 * Returns the proxies whose X-Forwarded-For is believed; none means that no header is. With a control socket, the header
 * is the one of the local agent's proxy (tools/start/control-socket.ts), which has no address.
 */
export function trustedProxies(
  env: Pick<WebEnv, 'FAIRLEAD_TRUSTED_PROXIES' | 'FAIRLEAD_CONTROL_SOCKET'>,
): readonly string[] {
  const { FAIRLEAD_TRUSTED_PROXIES: proxies, FAIRLEAD_CONTROL_SOCKET: socket } = env;
  return socket === undefined ? proxies : [...proxies, NO_ADDRESS];
}

type Addresses = Pick<WebEnv, 'FAIRLEAD_PUBLIC_URL' | 'FAIRLEAD_CONTROL_HOST' | 'FAIRLEAD_HTTPS_PORT'>;

/** Returns every origin with pages that may make changes. A loopback URL counts under all its names. */
export function trustedOrigins(env: Addresses): string[] {
  const parsed = new URL(env.FAIRLEAD_PUBLIC_URL);
  const origins = new Set([parsed.origin]);
  if (LOOPBACK.includes(parsed.hostname)) {
    for (const name of LOOPBACK) {
      parsed.hostname = name;
      origins.add(parsed.origin);
    }
  }
  if (env.FAIRLEAD_CONTROL_HOST !== '') {
    origins.add(new URL(`https://${env.FAIRLEAD_CONTROL_HOST}:${env.FAIRLEAD_HTTPS_PORT}`).origin);
  }
  return [...origins];
}

/** Returns the base URL for agents, which add their own path and scheme. `publicUrl` is where they download. */
export function agentBaseUrl(
  env: Pick<WebEnv, 'FAIRLEAD_PUBLIC_URL' | 'FAIRLEAD_AGENT_URL' | 'FAIRLEAD_GATEWAY_URL'>,
  publicUrl = env.FAIRLEAD_PUBLIC_URL,
): string {
  if (env.FAIRLEAD_AGENT_URL !== undefined) return env.FAIRLEAD_AGENT_URL;
  // Plain http is for this machine only: there no proxy serves dashboard and gateway under one host.
  return publicUrl.startsWith('https:') ? publicUrl : env.FAIRLEAD_GATEWAY_URL;
}
