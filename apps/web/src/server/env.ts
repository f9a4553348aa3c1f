// Settings of the web app, read once from the environment and validated. Nothing else in the app reads process.env.
import { commonEnv, parseEnv } from '@fairlead/core/kernel';
import { z } from 'zod';

const httpUrl = z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/+$/, ''));

/** Passwords, cookies and enrolment tokens travel to this URL, so plain http is allowed for loopback only. */
const publicUrl = httpUrl.refine((url) => isProtected(new URL(url)), 'must be https, unless it is on this machine');

const networks = z
  .string()
  .default('')
  .transform((text) => text.split(',').flatMap((part) => (part.trim() === '' ? [] : [part.trim()])))
  .pipe(z.array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])));

const schema = z.object({
  ...commonEnv,
  /** URL that people open, and the base of cookies, links and the install command. */
  FAIRLEAD_PUBLIC_URL: publicUrl.default('http://localhost:4400'),
  /** Host under which the local agent's proxy serves the dashboard over https; empty for none. */
  FAIRLEAD_CONTROL_HOST: z
    .string()
    .regex(/^[a-z0-9.-]*$/)
    .default(''),
  /** URL of the gateway for this process. */
  FAIRLEAD_GATEWAY_URL: httpUrl.default('http://127.0.0.1:4401'),
  /** URL of the gateway for agents. Default: the public URL. */
  FAIRLEAD_AGENT_URL: publicUrl.optional(),
  /** Certificate authority (PEM) of the public URL's certificate. New servers pin it. Default: they trust it already. */
  FAIRLEAD_PUBLIC_CA_FILE: z.string().min(1).optional(),
  FAIRLEAD_INTERNAL_TOKEN_FILE: z.string().min(1),
  FAIRLEAD_AUTH_SECRET_FILE: z.string().min(1),
  /** Agent for new servers: one program for this machine's architecture, or a folder with linux-x64 and linux-arm64. */
  FAIRLEAD_AGENT_BINARY: z.string().min(1).optional(),
  FAIRLEAD_HTTPS_PORT: z.coerce.number().int().min(1).max(65_535).default(4443),
  /** Maximum API calls a minute for one token, or for one person over all sessions. */
  FAIRLEAD_CALLS_PER_MINUTE: z.coerce.number().int().min(60).max(1_000_000).default(1800),
  /** Addresses and networks of reverse proxies with a trusted X-Forwarded-For, separated by commas. */
  FAIRLEAD_TRUSTED_PROXIES: networks,
  /** Unix socket of this process for the local agent's proxy. */
  FAIRLEAD_CONTROL_SOCKET: z.string().default(''),
  /** Private addresses and networks that this process may call on a user's behalf, separated by commas. */
  FAIRLEAD_OUTBOUND_ALLOW: networks,
  /** Contact in security.txt: a mailto: or https: URL. */
  FAIRLEAD_SECURITY_CONTACT: z.url({ protocol: /^(mailto|https)$/ }).optional(),
  /** URL such as smtp://user:password@host:587 or smtps://…. Contains a secret, so prefer the file. */
  FAIRLEAD_SMTP_URL: z.url({ protocol: /^smtps?$/ }).optional(),
  FAIRLEAD_SMTP_URL_FILE: z.string().min(1).optional(),
  /** Sender of mails, for example "Fairlead <fairlead@example.com>". */
  FAIRLEAD_MAIL_FROM: z.string().min(3).max(320).optional(),
});

export type WebEnv = z.infer<typeof schema>;

/** Throws one error that names every missing or invalid setting, never its value. */
export function readEnv(source: Readonly<Record<string, string | undefined>>): WebEnv {
  return parseEnv(schema, source);
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

function isProtected({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || LOOPBACK.includes(hostname) || hostname.endsWith('.localhost');
}

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
  return socket === '' ? proxies : [...proxies, NO_ADDRESS];
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

/** Returns the base URL for agents, which add their own path and scheme. */
export function agentBaseUrl(
  env: Pick<WebEnv, 'FAIRLEAD_PUBLIC_URL' | 'FAIRLEAD_AGENT_URL' | 'FAIRLEAD_GATEWAY_URL'>,
): string {
  if (env.FAIRLEAD_AGENT_URL !== undefined) return env.FAIRLEAD_AGENT_URL;
  // Plain http is for this machine only: there no proxy serves dashboard and gateway under one host.
  return env.FAIRLEAD_PUBLIC_URL.startsWith('https:') ? env.FAIRLEAD_PUBLIC_URL : env.FAIRLEAD_GATEWAY_URL;
}
