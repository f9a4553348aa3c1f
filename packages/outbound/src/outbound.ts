// HTTP client for user-supplied addresses. It resolves the name once, checks every address, and connects to a
// checked one, so that DNS rebinding gains nothing. It follows no redirects.
import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns/promises';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { createAddressGuard } from './addresses.ts';

export { createAddressGuard } from './addresses.ts';

export type OutboundErrorCode = 'refused_address' | 'unreachable' | 'too_large';

const outboundErrorBrand = Symbol.for('fairlead.OutboundError');

export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly code: OutboundErrorCode;

  constructor(code: OutboundErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }

  get [outboundErrorBrand](): true {
    return true;
  }

  /** Recognizes errors by their brand: a bundler may load this module twice in one process. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && outboundErrorBrand in value;
  }
}

export interface OutboundOptions {
  /** Addresses and networks beyond the internet's that may be called, for example a git server in the office. */
  readonly allowed: readonly string[];
  readonly timeoutMs?: number;
  readonly bodyBytesMax?: number;
  /** For tests. */
  readonly resolve?: (host: string) => Promise<readonly LookupAddress[]>;
}

export interface OutboundResponse {
  readonly status: number;
  readonly contentType: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface OutboundRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | null;
  /** Default: that of the client. */
  readonly bodyBytesMax?: number;
}

export interface Outbound {
  /** Returns any response, also a redirect. Throws an OutboundError. `url` is http or https. */
  get(url: string, headers?: Readonly<Record<string, string>>): Promise<OutboundResponse>;
  /** Returns any response, as `get` does. */
  send(request: OutboundRequest): Promise<OutboundResponse>;
}

const defaults = { timeoutMs: 10_000, bodyBytesMax: 4 * 1024 * 1024 };

export function createOutbound(options: OutboundOptions): Outbound {
  const mayCall = createAddressGuard(options.allowed);
  const resolve = options.resolve ?? ((host) => systemLookup(host, { all: true }));
  const { timeoutMs, bodyBytesMax } = { ...defaults, ...options };

  async function pin(host: string): Promise<LookupAddress> {
    const literal = host.replace(/^\[|\]$/g, '');
    const family = isIP(literal);
    const found = family === 0 ? await resolve(host).catch(unreachable(host)) : [{ address: literal, family }];
    const allowed = found.find(({ address }) => mayCall(address));
    if (allowed !== undefined) return allowed;
    throw new OutboundError('refused_address', `${host} is not on the internet`);
  }

  async function call({ url, ...request }: OutboundRequest): Promise<OutboundResponse> {
    const target = new URL(url);
    const pinned = await pin(target.hostname);
    return send(target, pinned, { timeoutMs, bodyBytesMax, ...request });
  }

  return { get: (url, headers = {}) => call({ method: 'GET', url, headers }), send: call };
}

interface SendOptions extends Omit<OutboundRequest, 'url'> {
  readonly timeoutMs: number;
  readonly bodyBytesMax: number;
}

function send(target: URL, pinned: LookupAddress, options: SendOptions): Promise<OutboundResponse> {
  const lookup: LookupFunction = (_host, { all }, done) => {
    if (all) done(null, [pinned]);
    else done(null, pinned.address, pinned.family);
  };
  const { promise, resolve, reject } = Promise.withResolvers<OutboundResponse>();
  const body = options.body == null ? null : Buffer.from(options.body, 'utf8');
  const open = target.protocol === 'https:' ? httpsRequest : httpRequest;
  const request = open(target, {
    lookup,
    method: options.method,
    headers: { ...options.headers, ...(body === null ? {} : { 'content-length': String(body.length) }) },
    agent: false,
    signal: AbortSignal.timeout(options.timeoutMs),
  });
  const fail = (error: unknown) => {
    reject(
      error instanceof OutboundError ? error : new OutboundError('unreachable', `${target.host} did not answer`, error),
    );
    request.destroy();
  };
  request.on('error', fail);
  request.on('response', (response) => {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    response.on('data', (part: Uint8Array) => {
      bytes += part.length;
      if (bytes > options.bodyBytesMax) fail(new OutboundError('too_large', `${target.host} answered too much`));
      else parts.push(part);
    });
    response.on('error', fail);
    response.on('end', () =>
      resolve({
        status: response.statusCode ?? 0,
        contentType: response.headers['content-type'] ?? '',
        headers: Object.fromEntries(
          Object.entries(response.headers).map(([name, value]) => [name, [value].flat().join(', ')]),
        ),
        body: Buffer.concat(parts),
      }),
    );
  });
  request.end(body ?? undefined);
  return promise;
}

function unreachable(host: string): (error: unknown) => never {
  return (error) => {
    throw new OutboundError('unreachable', `${host} has no address`, error);
  };
}
