// Typed requests to GitHub's API over the outbound client, which checks addresses and follows no redirects.
import { type Outbound, OutboundError } from '@fairlead/outbound';
import { request as octokitRequest } from '@octokit/request';
import { RequestError } from '@octokit/request-error';
import { apiUrlOf } from './addresses.ts';
import { GithubError } from './errors.ts';

export type GithubRequest = typeof octokitRequest;

/** Pause after a rate limit without a time: GitHub's documentation asks for at least a minute. */
const pauseMs = 60_000;

export interface TransportOptions {
  readonly outbound: Outbound;
  readonly now: () => Date;
}

export interface RequestLimits {
  /** Default: that of the outbound client. */
  readonly bodyBytesMax?: number;
}

/** `token`: a JWT of the app, a user's or an installation's token; null: none. */
export function requestOf(
  { outbound }: TransportOptions,
  baseUrl: string,
  token: string | null,
  limits: RequestLimits = {},
): GithubRequest {
  return octokitRequest.defaults({
    baseUrl: apiUrlOf(baseUrl),
    headers: {
      'user-agent': 'fairlead',
      'x-github-api-version': '2022-11-28',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    request: { fetch: fetchOver(outbound, limits), log: quiet },
  });
}

const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

interface FetchInit {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

function fetchOver(outbound: Outbound, limits: RequestLimits) {
  return async (url: string, { method, headers, body }: FetchInit): Promise<Response> => {
    const answer = await outbound.send({ method, url, headers, body: body ?? null, ...limits });
    // A redirect leads to another repository or host, so the credential does not follow it.
    if (answer.status >= 300 && answer.status < 400) throw new GithubError('not_found', 'GitHub answered a redirect');
    const empty = answer.status === 204 || answer.body.length === 0;
    return new Response(empty ? null : Buffer.from(answer.body), { status: answer.status, headers: answer.headers });
  };
}

/** Runs a request; throws a GithubError. */
export async function ask<T>({ now }: Pick<TransportOptions, 'now'>, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw toGithubError(error, now());
  }
}

function toGithubError(error: unknown, now: Date): unknown {
  if (error instanceof GithubError) return error;
  if (!(error instanceof RequestError)) return fromOutbound(error);
  const { status, response } = error;
  if (response === undefined) return fromOutbound(error.cause);
  const retryAt = retryTime(response.headers, now);
  if (status === 429 || (status === 403 && isRateLimit(response.headers, response.data)))
    return new GithubError('rate_limited', 'GitHub limits the rate of requests', retryAt ?? inMs(now, pauseMs));
  if (status === 401) return new GithubError('unauthorized', 'GitHub answered 401');
  if (status === 403) return new GithubError('forbidden', `GitHub answered 403: ${messageOf(response.data)}`);
  if (status === 404 || status === 410) return new GithubError('not_found', `GitHub answered ${status}`);
  if (status < 500) return new GithubError('invalid', `GitHub answered ${status}: ${messageOf(response.data)}`);
  return new GithubError('unreachable', `GitHub answered ${status}`, retryAt);
}

function fromOutbound(error: unknown): unknown {
  if (error instanceof GithubError) return error;
  if (isUnreadable(error)) {
    // The API of an Enterprise Server may answer anything, also with status 200.
    return new GithubError('unreachable', 'GitHub gave an answer that Fairlead does not understand');
  }
  if (!(error instanceof OutboundError)) return error;
  const isRefused = error.code === 'refused_address';
  return new GithubError(isRefused ? 'refused_address' : 'unreachable', error.message);
}

function isUnreadable(error: unknown): boolean {
  return error instanceof TypeError || error instanceof SyntaxError || error instanceof RangeError;
}

type Headers = Readonly<Record<string, string | number | undefined>>;

/** Primary limits say how many requests are left, secondary ones when to come again or only in words. */
function isRateLimit(headers: Headers, data: unknown): boolean {
  if (headers['x-ratelimit-remaining'] === '0' || headers['retry-after'] !== undefined) return true;
  return /rate limit/i.test(messageOf(data));
}

function retryTime(headers: Headers, now: Date): Date | null {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  if (Number.isFinite(seconds)) return inMs(now, seconds * 1000);
  const reset = Number(headers['x-ratelimit-reset'] ?? Number.NaN);
  return headers['x-ratelimit-remaining'] === '0' && Number.isFinite(reset) ? new Date(reset * 1000) : null;
}

/** The `message` of an error, which names fields and never values. */
function messageOf(data: unknown): string {
  if (typeof data !== 'object' || data === null || !('message' in data)) return 'no message';
  // PostgreSQL stores no NUL.
  return String(data.message).slice(0, 200).replaceAll('\0', '');
}

function inMs(now: Date, ms: number): Date {
  return new Date(now.getTime() + ms);
}
