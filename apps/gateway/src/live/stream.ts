// Internal live stream: GET /internal/live, Server-Sent Events for the web process only, never for browsers.
// Authenticates with the token that both read from one file; one stream belongs to one organization.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AppError, errorTable } from '@fairlead/contract/errors';
import { type OrganizationId, organizationIdSchema } from '@fairlead/contract/ids';
import { type LiveTopic, liveTopicsMax, parseLiveTopic } from '@fairlead/contract/live';
import type { Log } from '@fairlead/core/kernel';
import { isFromProxy } from '../from-proxy.ts';
import type { LiveHub } from './hub.ts';

export const livePath = '/internal/live';
const keepAliveMs = 15_000;
// Maximum backlog of a reader before it is disconnected as gone or stuck; it reconnects and reads what it missed from
// the store. Above the largest single event, which is a chunk of log lines.
const backlogBytesMax = 8 * 1024 * 1024;

export interface LiveStreamOptions {
  readonly token: string;
  readonly hub: LiveHub;
  /** Throws an AppError unless every topic belongs to the organization. */
  readonly requireTopics: (organizationId: OrganizationId, topics: readonly LiveTopic[]) => Promise<void>;
  readonly log: Log;
}

export interface LiveStreams {
  /** True if the request comes from the web process, which connects directly and never through a proxy. */
  isAllowed(request: IncomingMessage): boolean;
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Ends every open stream. */
  close(): void;
}

export function createLiveStreams(options: LiveStreamOptions): LiveStreams {
  const expected = digest(options.token);
  const open = new Set<ServerResponse>();

  function isAllowed(request: IncomingMessage): boolean {
    if (isFromProxy(request)) return false;
    const given = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    // Both digests have the same length, so the comparison takes constant time.
    return given !== undefined && timingSafeEqual(digest(given), expected);
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isAllowed(request)) return refuse(response, 'session.required');
    const query = new URL(request.url ?? '', 'http://gateway').searchParams;
    const organization = organizationIdSchema.safeParse(query.get('organization'));
    const topics = readTopics(query.get('topics') ?? '');
    if (!organization.success || topics === null) return refuse(response, 'input.invalid');
    await options.requireTopics(organization.data, topics);
    stream(response, organization.data, topics);
  }

  function stream(response: ServerResponse, organizationId: OrganizationId, topics: readonly LiveTopic[]): void {
    if (response.destroyed) return;
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    open.add(response);
    const unsubscribe = options.hub.subscribe(organizationId, topics, (event) => {
      response.write(`data: ${JSON.stringify(event)}\n\n`);
      if (response.writableLength <= backlogBytesMax) return;
      options.log.warn({ organizationId }, 'a live stream was not read fast enough and is ended');
      response.destroy();
    });
    const keepAlive = setInterval(() => response.write(': ping\n\n'), keepAliveMs);
    // Sends headers and the first byte at once: from here on, the reader misses no event.
    response.write(': open\n\n');
    response.once('close', () => {
      clearInterval(keepAlive);
      unsubscribe();
      open.delete(response);
    });
  }

  return {
    isAllowed,
    handle,
    close: () => {
      for (const response of open) response.end();
    },
  };
}

export function refuse(response: ServerResponse, code: AppError['code']): void {
  const { http, message } = errorTable[code];
  response.writeHead(http, { 'content-type': 'application/json' }).end(JSON.stringify({ code, message }));
}

function readTopics(text: string): readonly LiveTopic[] | null {
  const topics = text.split(',').map(parseLiveTopic);
  const known = topics.filter((topic) => topic !== null);
  return known.length === topics.length && known.length <= liveTopicsMax ? known : null;
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
