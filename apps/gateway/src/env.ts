// The gateway's settings, read once from the environment and checked. Nothing else reads process.env.
import { commonEnv, parseEnv } from '@fairlead/core/kernel';
import { z } from 'zod';

const schema = z.object({
  ...commonEnv,
  FAIRLEAD_GATEWAY_HOST: z.union([z.ipv4(), z.ipv6()]).default('127.0.0.1'),
  FAIRLEAD_GATEWAY_PORT: z.coerce.number().int().min(0).max(65535).default(4401),
  FAIRLEAD_INTERNAL_TOKEN_FILE: z.string().min(1),
  FAIRLEAD_SIGNING_KEY_DIR: z.string().min(1),
  FAIRLEAD_CONTROL_HOST: z.string().default(''),
  /** URL that people and agents on other machines use; the local server's proxy serves it if it is https. */
  FAIRLEAD_PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),
  // HTTPS port of the local server's proxy.
  FAIRLEAD_HTTPS_PORT: z.coerce.number().int().min(1).max(65_535).default(4443),
});

export type GatewayEnv = z.infer<typeof schema>;

/** Throws one error that names every missing or invalid setting, never its value. */
export function readEnv(source: NodeJS.ProcessEnv): GatewayEnv {
  return parseEnv(schema, source);
}

/** Returns the hosts under which the local server's proxy serves the control plane. */
export function controlHosts(env: Pick<GatewayEnv, 'FAIRLEAD_CONTROL_HOST' | 'FAIRLEAD_PUBLIC_URL'>): string[] {
  const { protocol, hostname } = new URL(env.FAIRLEAD_PUBLIC_URL ?? 'http://localhost');
  const hosts = [env.FAIRLEAD_CONTROL_HOST, protocol === 'https:' ? hostname : ''];
  return [...new Set(hosts.filter((host) => host !== ''))];
}
