// Requests, think time and stages of a plan: their rules, and the parts that a run may show. Pure. Imports no schema,
// because the browser uses it too.
import type { BenchmarkLoad, BenchmarkPlan } from './schema.ts';

export const loadMethods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
type LoadMethod = (typeof loadMethods)[number];
/** Requests of a plan: one GET of its path, or those of its load. */
type PlanRequests = Pick<BenchmarkPlan, 'path' | 'load'>;

/** One GET of the plan's path, in a closed loop without think time or at a constant rate. */
export const plainLoad: BenchmarkLoad = { requests: [], thinkTimeMs: 0, stages: [] };

const SAFE_METHODS: readonly LoadMethod[] = ['GET', 'HEAD', 'OPTIONS'];
/** Headers by which no app chooses another method, user or address. */
const PLAIN_HEADERS: readonly string[] = [
  'accept',
  'accept-encoding',
  'accept-language',
  'cache-control',
  'if-modified-since',
  'if-none-match',
  'range',
  'user-agent',
];
/** Headers that the generator decides, or that belong to one connection (RFC 9110, section 7.6.1). The agent has the same list. */
const RESERVED_HEADERS: readonly string[] = [
  'host',
  'content-length',
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
];
const CREDENTIALS =
  /auth|cookie|token|secret|passw|session|credential|api[-_]?key|access[-_]?key|private[-_]?key|jwt|csrf|signature|pwd/i;
/** Most threads that generate load. */
export const WORKERS_MAX = 64;
/** Most characters of a path. */
export const PATH_CHARS_MAX = 500;
/** Most bytes of all headers and bodies of a plan. */
const LOAD_BYTES_MAX = 128 * 1024;

/** Returns why a plan can't hold a header; null if it can. */
export function headerFault(name: string, value: string): string | null {
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/.test(name)) return `“${name.slice(0, 100)}” is not a header name.`;
  if (!/^[\x20-\x7e]{0,2000}$/.test(value)) return `The value of ${name} has at most 2000 printable ASCII characters.`;
  if (RESERVED_HEADERS.includes(name.toLowerCase())) return `The load generator sets ${name} itself.`;
  if (isCredential(name)) return `A plan is stored and shared, so it can't hold credentials such as ${name}.`;
  return null;
}

/** True for names of headers, parameters and fields that usually hold credentials. */
export function isCredential(name: string): boolean {
  return CREDENTIALS.test(name);
}

/**
 * True if a copy of the app's live release answers in the lab. It runs the app's code with its settings and secrets, so
 * starting it needs more than `benchmark.write`, and it can't have a schedule.
 */
export function copiesRelease({ upstream, labApp }: Pick<BenchmarkPlan, 'upstream' | 'labApp'>): boolean {
  return upstream === 'lab' && labApp.server === 'release';
}

/**
 * True if a plan may change data of an app or act as another of its users: it has a method other than GET, HEAD and OPTIONS,
 * as every gRPC call has, or a header by which an app may choose one. Starting it needs more than `benchmark.write`, and it
 * can't have a schedule.
 */
export function mayChangeData({
  protocols,
  load,
  ...plan
}: Pick<BenchmarkPlan, 'upstream' | 'labApp' | 'protocols' | 'load'>): boolean {
  const isPlain = (name: string) => PLAIN_HEADERS.includes(name.toLowerCase());
  return (
    (plan.upstream === 'live' || copiesRelease(plan)) &&
    (protocols.includes('grpc') ||
      load.requests.some(
        ({ method, headers }) => !SAFE_METHODS.includes(method) || !Object.keys(headers).every(isPlain),
      ))
  );
}

/** True if the load differs from `plainLoad`. */
export function hasOwnLoad({ requests, thinkTimeMs, stages, workers }: BenchmarkLoad): boolean {
  return requests.length > 0 || thinkTimeMs > 0 || stages.length > 0 || workers !== undefined;
}

/** Returns the paths that a plan requests. */
export function pathsOf({ path, load }: PlanRequests): string[] {
  return load.requests.length === 0 ? [path] : load.requests.map((request) => request.path);
}

/** Returns the combinations of a load that can't be measured. */
export function loadFaults(plan: BenchmarkPlan): string[] {
  const { requests, thinkTimeMs, stages } = plan.load;
  const faults: string[] = [];
  if (requests.length > 0 && plan.path !== '/') faults.push('Requests have their own paths: leave the path at /.');
  const bytes = requests.reduce((sum, { headers, body }) => sum + bytesOf(body) + bytesOf(JSON.stringify(headers)), 0);
  if (bytes > LOAD_BYTES_MAX) faults.push('The headers and bodies of all requests have at most 128 KiB.');
  if (requests.some(({ method, body }) => body !== '' && SAFE_METHODS.includes(method))) {
    faults.push('GET, HEAD and OPTIONS have no body.');
  }
  if (lacksQueries(plan)) {
    faults.push('A run keeps no queries: enter them again, or start the saved plan.');
  } else if (isRedacted(plan)) {
    faults.push('A run keeps no values of headers and no bodies: enter them again, or start the saved plan.');
  }
  if (thinkTimeMs > 0 && plan.requestsPerSecond !== null) {
    faults.push('Think time is for a closed loop: requests per second decide when requests are sent.');
  }
  if ((plan.scenario === 'latency' || plan.scenario === 'wake') && (requests.length > 0 || thinkTimeMs > 0)) {
    faults.push('This scenario has requests of its own, without think time.');
  }
  if (stages.length > 0) {
    if (plan.requestsPerSecond === null) faults.push('Stages begin at requests per second: enter them.');
    if (plan.scenario !== 'matrix') faults.push('Stages can’t be combined with a scenario.');
  }
  return faults;
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Returns the plan without queries, values of headers and bodies: runs and reports never show them. */
export function redactPlan<Plan extends PlanRequests>(plan: Plan): Plan {
  const requests = plan.load.requests.map(({ path, headers, body, ...request }) => ({
    ...request,
    path: withoutQuery(path),
    headers: Object.fromEntries(Object.keys(headers).map((name) => [name, REDACTED])),
    body: body === '' || isRedactedBody(body) ? body : `[redacted: ${bytesOf(body)} bytes]`,
  }));
  return { ...plan, path: withoutQuery(plan.path), load: { ...plan.load, requests } };
}

/** Returns the path with its query and fragment redacted. The result is never longer than a path may be. */
export function withoutQuery(path: string): string {
  const at = path.search(/[?#]/);
  return at === -1 ? path : path.slice(0, Math.min(at, PATH_CHARS_MAX - REDACTED_QUERY.length)) + REDACTED_QUERY;
}

/** True if the plan comes from a run and lacks queries, values of headers or bodies. */
export function isRedacted(plan: PlanRequests): boolean {
  return (
    lacksQueries(plan) ||
    plan.load.requests.some(({ headers, body }) => Object.values(headers).includes(REDACTED) || isRedactedBody(body))
  );
}

/** True for a redacted body, which has only its length. */
export function isRedactedBody(body: string): boolean {
  return REDACTED_BODY.test(body);
}

function lacksQueries({ path, load }: PlanRequests): boolean {
  return [path, ...load.requests.map((request) => request.path)].some((each) => each.endsWith(REDACTED_QUERY));
}

const REDACTED = '[redacted]';
const REDACTED_QUERY = `?${REDACTED}`;
const REDACTED_BODY = /^\[redacted: \d{1,6} bytes\]$/;

/** Returns the load as sentences of numbers and methods. They name no path, header or body, so that a report may show them. */
export function describeLoad({ load, requestsPerSecond }: Pick<BenchmarkPlan, 'load' | 'requestsPerSecond'>): string[] {
  const { requests, thinkTimeMs, stages, workers } = load;
  const total = requests.reduce((sum, { weight }) => sum + weight, 0);
  const shares = loadMethods.flatMap((method) => {
    const weight = requests.reduce((sum, each) => (each.method === method ? sum + each.weight : sum), 0);
    return weight === 0 ? [] : [`${method} ${Math.round((1000 * weight) / total) / 10} %`];
  });
  const rates = stages.map(({ durationMs, requestsPerSecond: rate }) => `${rate} after ${durationMs / 1000} s`);
  return [
    ...(shares.length === 0 ? [] : [`Methods of the load: ${shares.join(', ')}.`]),
    ...(thinkTimeMs === 0
      ? []
      : [`Each client waits ${thinkTimeMs} ms between a response and its next request, which is not latency.`]),
    ...(rates.length === 0
      ? []
      : [
          `Each stage is measured by itself. The rate begins at ${requestsPerSecond} requests per second and changes evenly: ${rates.join(', ')}.`,
        ]),
    ...(workers === undefined
      ? []
      : [`Threads that generate load: ${workers}, or one per core if there are fewer cores.`]),
  ];
}
