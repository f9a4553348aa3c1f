// Schemas of the proxy's settings for a domain, an app and a whole server.
// Invariant: values are in the agent's bounds, because it refuses its whole state for one value that is not.
import { appIdSchema } from '@fairlead/contract/ids';
import { type TrafficBound, trafficBounds } from '@fairlead/contract/traffic-bounds';
import { z } from 'zod';
import { ipRangeSchema } from '../kernel/address.ts';
import { healthPathSchema } from '../kernel/process.ts';

export * from './host-policy-schema.ts';

const entriesMax = 100;
const whole = (bound: TrafficBound) => {
  const [least, most] = trafficBounds[bound];
  return z.number().int().min(least).max(most);
};

/** The proxy writes them itself: they frame a message or belong to one hop. */
const ownedByProxy = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-request-id',
]);

const headerValueSchema = z
  .string()
  .trim()
  .max(4096)
  .regex(/^[\t\x20-\x7e]*$/, 'A header has visible ASCII characters only.');

const headerNameSchema = z
  .string()
  .trim()
  .toLowerCase()
  .max(256)
  .regex(/^[a-z0-9!#$%&'*+\-.^`|~]+$/, 'Enter the name of a header, such as x-frame-options.')
  .refine((name) => !ownedByProxy.has(name), 'The proxy writes this header itself.');

const headerRuleSchema = z
  .object({
    action: z.enum(['set', 'append', 'remove']),
    name: headerNameSchema,
    value: headerValueSchema.default(''),
  })
  .refine(({ action, value }) => action !== 'remove' || value === '', {
    path: ['value'],
    message: 'A header that is removed has no value.',
  });

const bodySchema = z
  .string()
  .refine((body) => new TextEncoder().encode(body).length <= 65_536, 'A page has at most 64 KiB.');

const pageSchema = z.object({
  contentType: headerValueSchema.min(1, 'Enter a media type.').default('text/html; charset=utf-8'),
  body: bodySchema,
  /** Retry-After in seconds; 0: not sent. */
  retryAfterSeconds: whole('route.maintenance.retry_after_seconds').default(0),
});

const errorPageSchema = z
  .object({
    /** Statuses, both included. */
    from: z.number().int().min(400).max(599),
    to: z.number().int().min(400).max(599),
    /** Also replaces error responses of the app itself. */
    replaceApp: z.boolean().default(false),
    page: pageSchema,
  })
  .refine(({ from, to }) => from <= to, { path: ['to'], message: '“To status” must not be lower than “From status”.' });

const redirectSchema = z
  .object({
    to: z
      .string()
      .trim()
      .max(2048)
      .regex(
        /^(?:https?:\/\/[^/@#"<>\\\s]+(?:\/[^#"<>\\\s]*)?|\/(?!\/)[^#"<>\\\s]*)$/,
        'Enter an address such as https://example.com/new, or a path.',
      )
      .regex(/^[\x21-\x7e]+$/, 'An address has ASCII characters only.'),
    status: z.union([z.literal(301), z.literal(302), z.literal(303), z.literal(307), z.literal(308)]).default(308),
    /** Path and query of the request are added. */
    keepPath: z.boolean().default(true),
  })
  .refine(({ to, keepPath }) => !keepPath || !to.includes('?'), {
    path: ['to'],
    message: 'No path can be added to an address with a query.',
  });

const userNameSchema = z
  .string()
  .trim()
  .min(1, 'Enter a name.')
  .max(128)
  .regex(/^[^:\p{Cc}]*$/u, 'A name has no colon.');

const uniqueNames = (users: readonly { readonly name: string }[]): boolean =>
  new Set(users.map(({ name }) => name)).size === users.length;

function authSchema<User extends z.ZodType<{ readonly name: string }>>(user: User) {
  return z.object({
    /** Browsers show it above the fields. */
    realm: z
      .string()
      .trim()
      .max(128)
      .regex(/^(?:[ !#-[\]-~])*$/, 'Use plain letters, without quotes.')
      .default(''),
    users: z.array(user).min(1, 'Add at least one user.').max(20).refine(uniqueNames, 'Two have the same name.'),
  });
}

/** An app on the same server decides about each request. */
const forwardAuthSchema = z.object({
  /** In the same environment. Never an address: the proxy reaches what no visitor may. */
  app: appIdSchema,
  path: z
    .string()
    .trim()
    .max(2048)
    .regex(/^\/[\x21-\x7e]*$/, 'Enter a path such as /verify.'),
  /** Headers that are copied to the request; a client cannot send them. */
  responseHeaders: z
    .array(
      headerNameSchema.refine(
        (name) => !/^(?:cookie|forwarded|x-real-ip|x-forwarded-.*)$/.test(name),
        'This header cannot be copied.',
      ),
    )
    .max(20)
    .default([]),
  timeoutMs: whole('route.forward_auth.timeout_ms').default(5000),
  /** Time for which an allowed request is cached; 0: never. */
  cacheSeconds: whole('route.forward_auth.cache_seconds').default(0),
  /** Cookie and Authorization alone decide, so that one cache entry is valid for all paths. */
  cacheByCredentials: z.boolean().default(false),
});

export const headerRulesMax = entriesMax;
const headerRulesSchema = z.array(headerRuleSchema).max(headerRulesMax).default([]);
const rangesSchema = z.array(ipRangeSchema).max(entriesMax).default([]);

/** Everything has a default: a domain without a policy sends plain HTTP to HTTPS and leads to its app. */
const policyShape = {
  /** Instead of the app. */
  redirect: redirectSchema.nullable().default(null),
  /** Serves plain HTTP like HTTPS; otherwise the proxy redirects it to HTTPS. */
  servePlainHttp: z.boolean().default(false),
  /** Strips the domain's path prefix for the app; X-Forwarded-Prefix has it. */
  stripPrefix: z.boolean().default(false),
  /** Path for the app in place of the domain's path prefix; empty: none. It wins over stripPrefix. */
  rewritePrefix: z
    .string()
    .trim()
    .max(1024)
    .regex(/^(?:\/(?!\/)(?:[\x21-\x7e](?<![?#\\]|\/\/))*)?$/, 'Enter a path such as /v1.')
    .default(''),
  requestHeaders: headerRulesSchema,
  responseHeaders: headerRulesSchema,
  /** Client addresses that may come in; empty: all. */
  allow: rangesSchema,
  /** Client addresses that may not; it wins. */
  deny: rangesSchema,
  /** All requests get it, as 503. */
  maintenance: pageSchema.nullable().default(null),
  errorPages: z.array(errorPageSchema).max(20).default([]),
  limits: z
    .object({
      /** Limit for one client address; 0: none. */
      clientRequestsPerSecond: whole('route.limits.client_requests_per_second').default(0),
      clientBurst: whole('route.limits.client_burst').default(0),
      clientInFlight: whole('route.limits.client_in_flight').default(0),
      requestsPerSecond: whole('route.limits.requests_per_second').default(0),
      burst: whole('route.limits.burst').default(0),
      inFlight: whole('route.limits.in_flight').default(0),
    })
    .prefault({}),
  /** Priority of requests when the app cannot serve all. */
  priority: z.enum(['low', 'normal', 'high']).default('normal'),
  compress: z.boolean().default(false),
  forwardAuth: forwardAuthSchema.nullable().default(null),
  /** 0: no bound. */
  requestBodyBytesMax: whole('route.request_body_bytes_max').default(0),
};

/** As it is stored and sent to servers. */
export const storedPolicySchema = z.object({
  ...policyShape,
  basicAuth: authSchema(z.object({ name: userNameSchema, passwordHash: z.string() }))
    .nullable()
    .default(null),
});
export type StoredPolicy = z.infer<typeof storedPolicySchema>;

/** As people see it: without hashes. */
export const policySchema = z.object({
  ...policyShape,
  basicAuth: authSchema(z.object({ name: userNameSchema }))
    .nullable()
    .default(null),
});
export type Policy = z.infer<typeof policySchema>;

/** Policy as input: a user without a password here keeps their current one. */
export const policyInputSchema = z
  .object({
    ...policyShape,
    basicAuth: authSchema(
      z.object({
        name: userNameSchema,
        password: z.string().min(8, 'A password has at least 8 characters.').max(256).optional(),
      }),
    )
      .nullable()
      .default(null),
  })
  .refine(({ redirect, basicAuth, forwardAuth }) => redirect === null || (basicAuth === null && forwardAuth === null), {
    path: ['redirect'],
    message: 'A redirect can’t ask for a password. Turn off authentication first.',
  });
export type PolicyInput = z.infer<typeof policyInputSchema>;

// ---------------------------------------------------------------------------------------------- of an app

const second = 1_000;

const wholeFrom = (bound: TrafficBound) => {
  const [least, most] = trafficBounds[bound];
  const sentence = `Enter a whole number from ${least} to ${most.toLocaleString('en')}.`;
  return z.number({ error: sentence }).int(sentence).min(least, sentence).max(most, sentence);
};
const timeUpTo = (leastMs: number, mostMs: number, sentence: string) =>
  z.number({ error: sentence }).int(sentence).min(leastMs, sentence).max(mostMs, sentence);
const timeWithin = (bound: TrafficBound, sentence: string) => {
  const [leastMs, mostMs] = trafficBounds[bound];
  return timeUpTo(leastMs, mostMs, sentence);
};
const healthCheckTimeSchema = timeUpTo(100, 600 * second, 'Enter a time from a tenth of a second to ten minutes.');

/** Ties a client to an instance. */
const stickySessionsSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('cookie'),
    name: z
      .string()
      .trim()
      .max(64)
      .regex(/^[A-Za-z0-9_.-]+$/, 'Enter the name of a cookie: letters, digits, “_”, “-” and “.”.'),
  }),
  /** Client address as the key; for IPv6: its /64. */
  z.object({ kind: z.literal('client_address') }),
]);

/** Load balancing, timeouts and retries of an app. Each default is the agent's own. */
export const appTrafficSchema = z.object({
  /** Protocol to the instances. HTTP/2 is by prior knowledge: gRPC needs it. */
  upstreamProtocol: z.enum(['http1', 'http2']).default('http1'),
  /** Least loaded of two picked at random, or round robin. */
  loadBalancing: z.enum(['least_loaded', 'round_robin']).default('least_loaded'),
  stickySessions: stickySessionsSchema.nullable().default(null),
  /** Slow start: time in which a new instance gets less than its share; 0: off. */
  slowStartMs: timeWithin('app.slow_start_ms', 'Enter a time of at most an hour.').default(0),
  /** Connections to one instance; 0: adaptive concurrency. */
  connectionsPerInstance: wholeFrom('app.connections_per_instance').default(0),
  /** Maximum number of in-flight requests at one instance; 0: as many as connections. */
  inFlightPerInstance: wholeFrom('app.in_flight_per_instance').default(0),
  /** Maximum number of the app's in-flight requests on one server; 0: no limit. */
  inFlightPerApp: wholeFrom('app.in_flight_per_app').default(0),
  /** Maximum number of requests that wait for an instance on one server; 0: no queue. */
  queueLengthMax: wholeFrom('app.queue_length_max').default(8192),
  queueTimeoutMs: timeWithin('app.queue_timeout_ms', 'Enter a time from a millisecond to an hour.').default(
    60 * second,
  ),
  /** Response timeout, from the end of a request to the head of its response. */
  responseTimeoutMs: timeWithin('app.response_timeout_ms', 'Enter a time from a millisecond to a day.').default(
    120 * second,
  ),
  /** Load shedding: refuses requests by priority while the queue is slow. */
  loadShedding: z.boolean().default(false),
  /** Retry budget: retries as a percentage of the requests; 0: none. */
  retryBudgetPercent: wholeFrom('app.retry_budget_percent').default(20),
  /** Outlier ejection: takes an instance that fails out of rotation for a while. */
  outlierEjection: z
    .object({
      /** 0: never. */
      consecutiveFailures: wholeFrom('app.outlier_ejection.consecutive_failures').default(5),
      ejectionTimeMs: timeWithin(
        'app.outlier_ejection.ejection_time_ms',
        'Enter a time from a tenth of a second to an hour.',
      ).default(5 * second),
      /** Maximum share of the app's instances that may be ejected at once. */
      ejectedPercentMax: wholeFrom('app.outlier_ejection.ejected_percent_max').default(50),
    })
    .prefault({}),
  /** Active health check that the proxy runs against each instance; null: off. */
  healthCheck: z
    .object({
      /** Path that must return 2xx or 3xx; empty: a TCP connection is enough. */
      path: healthPathSchema.default('/'),
      intervalMs: healthCheckTimeSchema.default(5 * second),
      timeoutMs: healthCheckTimeSchema.default(2 * second),
      healthyThreshold: wholeFrom('app.health_check.healthy_threshold').default(1),
      unhealthyThreshold: wholeFrom('app.health_check.unhealthy_threshold').default(3),
    })
    .nullable()
    .default(null),
});
export type AppTrafficSettings = z.infer<typeof appTrafficSchema>;

// ---------------------------------------------------------------------------------------------- of a server

const kibibyte = 1024;

/** Settings of a server's whole proxy. Each default is the agent's own. */
export const proxySettingsSchema = z
  .object({
    /** Trusted proxies in front of this one; their client address is believed. */
    trustedProxies: rangesSchema,
    /** Cloudflare's published addresses too. */
    cloudflare: z.boolean().default(false),
    /** Connections begin with a PROXY protocol header; any other is closed. */
    proxyProtocol: z.boolean().default(false),
    http3: z.boolean().default(true),
    /** Maximum number of connections from one client address to one core; 0: no limit. */
    connectionsPerClient: wholeFrom('proxy.connections_per_client').default(1024),
    accessLog: z
      .object({
        enabled: z.boolean().default(true),
        format: z.enum(['json', 'combined']).default('json'),
        /** Number of successful requests in a thousand that are logged; failed ones always are. */
        samplePermille: wholeFrom('proxy.access_log.sample_permille').default(10),
        /** Then another file is begun. */
        fileBytesMax: z
          .number()
          .int()
          .min(trafficBounds['proxy.access_log.file_bytes_max'][0], 'A file has at least 64 KiB.')
          .max(trafficBounds['proxy.access_log.file_bytes_max'][1], 'A file has at most 16 GiB.')
          .default(64 * kibibyte ** 2),
        /** Number of rotated files to keep. */
        filesMax: wholeFrom('proxy.access_log.files_max').default(5),
      })
      .prefault({}),
  })
  .refine(
    ({ proxyProtocol, trustedProxies, cloudflare }) => !proxyProtocol || trustedProxies.length > 0 || cloudflare,
    {
      path: ['proxyProtocol'],
      message: 'Add trusted proxies first: the proxy closes all other connections.',
    },
  );
export type ProxySettings = z.infer<typeof proxySettingsSchema>;
