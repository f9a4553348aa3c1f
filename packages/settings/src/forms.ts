// Forms of settings: the schema of the text in an environment variable, the expected form in words, and its type in
// the settings file.
import { z } from 'zod';

export interface Form<T extends z.ZodType = z.ZodType> {
  readonly type: T;
  /** Completes the sentence "must be …" of an error. */
  readonly expects: string;
  /** Type in TOML. A path is relative to the folder of the file. */
  readonly toml: 'string' | 'path' | 'integer' | 'list' | 'boolean';
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/** True for a URL that only this machine reaches. */
export function isLocalUrl(url: string): boolean {
  const { hostname } = new URL(url);
  return LOOPBACK.includes(hostname) || hostname.endsWith('.localhost');
}

/** Labels as an agent accepts them in a route; empty: no host. */
const HOST = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*)?$/;

const httpUrl = z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/+$/, ''));

export const gatewayUrl = { type: httpUrl, expects: 'an http or https URL', toml: 'string' } as const;

/**
 * Passwords, cookies and enrolment tokens travel to this URL, so plain http is allowed for loopback only. The dashboard and
 * the link of agents have fixed paths.
 */
export const publicUrl = {
  type: httpUrl
    .refine((url) => new URL(url).href === `${new URL(url).origin}/`)
    .refine((url) => url.startsWith('https:') || isLocalUrl(url))
    .refine((url) => HOST.test(new URL(url).hostname) || new URL(url).hostname.startsWith('['))
    .transform((url) => new URL(url).origin),
  expects: 'an https URL, or an http URL of this machine, without a path',
  toml: 'string',
} as const;

export const databaseUrl = {
  type: z.url({ protocol: /^postgres(ql)?$/ }),
  expects: 'a postgresql:// URL',
  toml: 'string',
} as const;

export const directoryUrl = {
  type: z.union([z.literal(''), z.url({ protocol: /^https$/ })]),
  expects: 'an https URL, or nothing',
  toml: 'string',
} as const;

export const emailAddress = {
  type: z.union([z.literal(''), z.email()]),
  expects: 'an email address, or nothing',
  toml: 'string',
} as const;

export const smtpUrl = {
  type: z.url({ protocol: /^smtps?$/ }),
  expects: 'an smtp:// or smtps:// URL',
  toml: 'string',
} as const;

export const contactUrl = {
  type: z.url({ protocol: /^(mailto|https)$/ }),
  expects: 'a mailto: or https: URL',
  toml: 'string',
} as const;

/** Root takes programs from here, but only signed ones. */
export const feed = {
  type: z.union([z.url({ protocol: /^https$/ }), z.string().regex(/^\/[^"\\]*$/)]),
  expects: 'an https URL or an absolute path',
  toml: 'string',
} as const;

export const hostName = {
  type: z.string().regex(HOST),
  expects: 'a host name in lower case, or empty',
  toml: 'string',
} as const;

export const listenAddress = {
  type: z.union([z.ipv4(), z.ipv6()]),
  expects: 'an IPv4 or IPv6 address',
  toml: 'string',
} as const;

export const path = { type: z.string().min(1), expects: 'a path', toml: 'path' } as const;

export const text = { type: z.string().min(1), expects: 'a text', toml: 'string' } as const;

export const sender = {
  type: z.string().min(3).max(320),
  expects: 'a sender such as "Fairlead <fairlead@example.com>"',
  toml: 'string',
} as const;

export const logLevel = {
  type: z.enum(['debug', 'info', 'warn', 'error']),
  expects: 'debug, info, warn or error',
  toml: 'string',
} as const;

export const networks = {
  type: z
    .string()
    .transform((text) => text.split(',').flatMap((part) => (part.trim() === '' ? [] : [part.trim()])))
    .pipe(z.array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]))),
  expects: 'a list of IP addresses and networks such as 10.0.0.0/8',
  toml: 'list',
} as const;

export const dnsServers = {
  type: z
    .string()
    .transform((text) => text.split(',').flatMap((part) => (part.trim() === '' ? [] : [part.trim()])))
    .pipe(z.array(z.string().refine(isDnsServer))),
  expects: 'a list of IP addresses such as 9.9.9.9 or [2620:fe::fe]:53',
  toml: 'list',
} as const;

/** True for an address with or without a port; an IPv6 address with a port is in brackets. */
function isDnsServer(text: string): boolean {
  const [, bracketed, port] = /^(?:\[([^\]]+)\]|[^:]+):(\d{1,5})$/.exec(text) ?? [];
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) return false;
  const address = port === undefined ? text : (bracketed ?? text.slice(0, text.lastIndexOf(':')));
  const isV6 = z.ipv6().safeParse(address).success;
  return isV6 ? port === undefined || bracketed !== undefined : z.ipv4().safeParse(address).success;
}
/** Base64url, as certificate authorities show it. */
export const macKey = {
  type: z.string().regex(/^[\w-]{16,}={0,2}$/),
  expects: 'a key in base64url',
  toml: 'string',
} as const;

export function integer(min: number, max: number) {
  return {
    type: z.string().regex(/^\d+$/).pipe(z.coerce.number<string>().int().min(min).max(max)),
    expects: `a whole number from ${min} to ${max}`,
    toml: 'integer',
  } as const;
}

/** A flag that is absent is off. */
export const flag = {
  type: z.enum(['true', 'false']).transform((text) => text === 'true'),
  expects: 'true or false',
  toml: 'boolean',
} as const;

export const port = integer(1, 65_535);

export const recipient = {
  type: z.string().regex(/^age1[02-9ac-hj-np-z]{58}$/),
  expects: 'a public recovery key, which begins with age1',
  toml: 'string',
} as const;

/** Times of a recurring task: `offsetMs` after each full `periodMs` since 1970, UTC. */
export interface Schedule {
  readonly periodMs: number;
  readonly offsetMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const TIME_OF_DAY = /^([01]\d|2[0-3]):([0-5]\d)$/;
/** Hours that divide a day, so that each day has the same times. */
const INTERVAL = /^(1|2|3|4|6|8|12)h$/;

export const schedule = {
  type: z.union([
    z
      .string()
      .regex(TIME_OF_DAY)
      .transform((text): Schedule => {
        const [hours = 0, minutes = 0] = text.split(':').map(Number);
        return { periodMs: 24 * HOUR_MS, offsetMs: hours * HOUR_MS + minutes * MINUTE_MS };
      }),
    z
      .string()
      .regex(INTERVAL)
      .transform((text): Schedule => ({ periodMs: Number.parseInt(text, 10) * HOUR_MS, offsetMs: 0 })),
  ]),
  expects: 'a time of day (UTC) such as 03:30, or 1h, 2h, 3h, 4h, 6h, 8h or 12h',
  toml: 'string',
} as const;
