// POST /internal/logs: streams the app logs that the web process queries as Server-Sent Events. Authenticates with the
// token that both read from one file; checks again which servers may be queried.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AppLogBatch, type AppLogQuery, appLogQuery } from '@fairlead/contract/app-log';
import type { ServerId } from '@fairlead/contract/ids';
import type { Log } from '@fairlead/core/kernel';
import type { LogAgent, LogQueries } from './log-queries.ts';
import { readBody } from './read-body.ts';
import { refuse } from './stream.ts';

export const logPath = '/internal/logs';
const keepAliveMs = 15_000;
const backlogBytesMax = 8 * 1024 * 1024;

export interface LogEndpointOptions {
  readonly isAllowed: (request: IncomingMessage) => boolean;
  /** Returns the servers of the query on which the organization's app is placed in that environment. */
  readonly findServers: (query: AppLogQuery) => Promise<ReadonlySet<string>>;
  readonly agentOf: (serverId: ServerId) => LogAgent | null;
  readonly queries: LogQueries;
  readonly log: Log;
}

export interface LogEndpoint {
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Ends every open stream. */
  close(): void;
}

export function createLogEndpoint(options: LogEndpointOptions): LogEndpoint {
  const open = new Set<ServerResponse>();

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!options.isAllowed(request)) return refuse(response, 'session.required');
    const query = appLogQuery.safeParse(await readBody(request));
    if (!query.success) return refuse(response, 'input.invalid');
    const servers = await options.findServers(query.data);
    if (query.data.serverIds.some((id) => !servers.has(id))) return refuse(response, 'app.not_found');
    answer(response, query.data);
  }

  function answer(response: ServerResponse, query: AppLogQuery): void {
    if (response.destroyed) return;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    open.add(response);
    const waiting = new Set<string>(query.serverIds);
    const listener = (batch: AppLogBatch): void => {
      response.write(`data: ${JSON.stringify(batch)}\n\n`);
      if (batch.done) waiting.delete(batch.serverId);
      if (waiting.size === 0) response.end();
      else if (response.writableLength > backlogBytesMax) {
        options.log.warn({ appId: query.appId }, 'an answer about logs was not read fast enough and is ended');
        response.destroy();
      }
    };
    response.write(': open\n\n');
    const keepAlive = setInterval(() => response.write(': ping\n\n'), keepAliveMs);
    const stops = query.serverIds.map((id) => options.queries.ask(id, options.agentOf(id), query, listener));
    response.once('close', () => {
      clearInterval(keepAlive);
      for (const stop of stops) stop();
      open.delete(response);
    });
  }

  return {
    handle,
    close: () => {
      for (const response of open) response.end();
    },
  };
}
