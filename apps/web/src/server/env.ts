// The web app's settings, read once from the environment and checked. Nothing else in the app reads process.env.
import { z } from 'zod';

const httpUrl = z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/+$/, ''));

/** Passwords, cookies and enrolment tokens travel to it, so plain http is for names of this machine alone. */
const publicUrl = httpUrl.refine((url) => isProtected(new URL(url)), 'must be https, unless it is on this machine');

const networks = z
  .string()
  .default('')
  .transform((text) => text.split(',').flatMap((part) => (part.trim() === '' ? [] : [part.trim()])))
  .pipe(z.array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])));

const schema = z.object({
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  /** The address people open; cookies, links and the install command are made for it. */
  FAIRLEAD_PUBLIC_URL: publicUrl.default('http://localhost:4400'),
  /** The host under which the local agent's proxy serves the dashboard over https; empty: it doesn't. */
  FAIRLEAD_CONTROL_HOST: z
    .string()
    .regex(/^[a-z0-9.-]*$/)
    .default(''),
  /** Where this process reaches the gateway. */
  FAIRLEAD_GATEWAY_URL: httpUrl.default('http://127.0.0.1:4401'),
  /** Where agents reach the gateway, when that is not the public address. */
  FAIRLEAD_AGENT_URL: publicUrl.optional(),
  FAIRLEAD_INTERNAL_TOKEN_FILE: z.string().min(1),
  FAIRLEAD_AUTH_SECRET_FILE: z.string().min(1),
  FAIRLEAD_MASTER_KEY_FILE: z.string().min(1),
  FAIRLEAD_LOG_STORE_DIR: z.string().min(1),
  // Without it, beside the logs.
  FAIRLEAD_ARTIFACT_STORE_DIR: z.string().min(1).optional(),
  /** The agent offered to new servers: one program for this machine's kind, or a folder with linux-x64 and linux-arm64. */
  FAIRLEAD_AGENT_BINARY: z.string().min(1).optional(),
  FAIRLEAD_HTTPS_PORT: z.coerce.number().int().min(1).max(65_535).default(4443),
  /** Addresses and networks of reverse proxies whose X-Forwarded-For is believed, separated by commas. */
  FAIRLEAD_TRUSTED_PROXIES: networks,
  /** Private addresses and networks that this process may call when somebody types their name, separated by commas. */
  FAIRLEAD_OUTBOUND_ALLOW: networks,
  /** Whom security.txt names: a mailto: or https: address. */
  FAIRLEAD_SECURITY_CONTACT: z.url({ protocol: /^(mailto|https)$/ }).optional(),
  /** smtp://user:password@host:587 or smtps://…. Its password is a secret, so the file is the better place. */
  FAIRLEAD_SMTP_URL: z.url({ protocol: /^smtps?$/ }).optional(),
  FAIRLEAD_SMTP_URL_FILE: z.string().min(1).optional(),
  /** The sender of mails, for example "Fairlead <fairlead@example.com>". */
  FAIRLEAD_MAIL_FROM: z.string().min(3).max(320).optional(),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
});

export type WebEnv = z.infer<typeof schema>;

/** Throws one error that names every setting that is missing or wrong, never its value. */
export function readEnv(source: Readonly<Record<string, string | undefined>>): WebEnv {
  const parsed = schema.safeParse(source);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new Error(`the environment is not complete: ${problems.join('; ')}`);
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

function isProtected({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || LOOPBACK.includes(hostname) || hostname.endsWith('.localhost');
}

type Addresses = Pick<WebEnv, 'FAIRLEAD_PUBLIC_URL' | 'FAIRLEAD_CONTROL_HOST' | 'FAIRLEAD_HTTPS_PORT'>;

/** Every origin whose pages may change something. A loopback address is meant under all its names. */
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

/** The base address that an agent is given; it adds its own path and scheme. */
export function agentBaseUrl(
  env: Pick<WebEnv, 'FAIRLEAD_PUBLIC_URL' | 'FAIRLEAD_AGENT_URL' | 'FAIRLEAD_GATEWAY_URL'>,
): string {
  if (env.FAIRLEAD_AGENT_URL !== undefined) return env.FAIRLEAD_AGENT_URL;
  // Plain http is for this machine only: there no proxy joins dashboard and gateway under one address.
  return env.FAIRLEAD_PUBLIC_URL.startsWith('https:') ? env.FAIRLEAD_PUBLIC_URL : env.FAIRLEAD_GATEWAY_URL;
}
