// The gateway's door: one HTTP server for agents (WebSocket on /agent, artifacts below it), the web process (/internal/live) and whoever asks
// whether it lives (/healthz). It stands behind ordinary reverse proxies, so nothing here looks at remote addresses or
// forwarded headers: an agent is known by its key alone.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { AppError } from '@fairlead/contract/errors';
import type { Log } from '@fairlead/core/kernel';
import { type WebSocket, WebSocketServer } from 'ws';
import type { ArtifactDoor } from './artifact/artifact-door.ts';
import { type InspectDoor, inspectPath } from './live/inspect-door.ts';
import { type LogDoor, logPath } from './live/log-door.ts';
import { type LiveStreams, livePath, refuse } from './live/stream.ts';
import { messageBytesMax } from './session/read-message.ts';

const agentPath = '/agent';
const healthPath = '/healthz';
// Room above the gateway's own limit, so that a message somewhat too large is answered with a named error.
const frameBytesMax = 2 * messageBytesMax;

export interface HttpServerOptions {
  readonly streams: LiveStreams;
  readonly artifacts: ArtifactDoor;
  readonly logDoor: LogDoor;
  readonly inspectDoor: InspectDoor;
  /** Whether one more agent may knock; may end another for it. */
  readonly hasRoom: () => boolean;
  readonly onAgent: (socket: WebSocket, connection: Duplex) => void;
  /** Of requests that bring no artifact. */
  readonly bodyTimeoutMs: number;
  readonly log: Log;
}

export interface HttpServer {
  /** Resolves with the port it listens on. */
  listen(host: string, port: number): Promise<number>;
  close(): Promise<void>;
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { log } = options;
  // A body may be an artifact, and hours long on a slow line; whoever sends none of it is ended by its door. Every other
  // one has a bound of its own.
  // Compression would let a small message grow large in memory; frames are compact already.
  const sockets = new WebSocketServer({ noServer: true, maxPayload: frameBytesMax, perMessageDeflate: false });
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 2 * 60 * 60_000 }, (request, response) => {
    answer(request, response, options).catch((error: unknown) => {
      if (error instanceof AppError && !response.headersSent) return refuse(response, error.code);
      log.error({ err: error, path: pathOf(request) }, 'a request failed');
      if (response.headersSent) response.destroy();
      else refuse(response, 'internal.unexpected');
    });
  });

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', (error) => log.debug({ err: error }, 'a connection broke before it was one'));
    if (pathOf(request) !== agentPath) turnAway(socket, '404 Not Found');
    else if (!options.hasRoom()) turnAway(socket, '503 Service Unavailable');
    else sockets.handleUpgrade(request, socket, head, (agent) => options.onAgent(agent, socket));
  });

  return { listen: (host, port) => listen(server, host, port), close: () => close(server) };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { streams, artifacts, logDoor, inspectDoor, bodyTimeoutMs }: HttpServerOptions,
): Promise<void> {
  const path = pathOf(request);
  if (await artifacts.handle(request, response, path)) return;
  boundBody(request, bodyTimeoutMs);
  if (request.method === 'GET' && path === livePath) return streams.handle(request, response);
  if (request.method === 'POST' && path === logPath) return logDoor.handle(request, response);
  if (request.method === 'POST' && path === inspectPath) return inspectDoor.handle(request, response);
  if (path === healthPath) {
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end('{"status":"ok"}');
    return;
  }
  const status = path === agentPath ? 426 : 404;
  response.writeHead(status, status === 426 ? { upgrade: 'websocket', connection: 'upgrade' } : {}).end();
}

/** Whether or not somebody reads it: a body that trickles in holds a connection. */
function boundBody(request: IncomingMessage, timeoutMs: number): void {
  const timer = setTimeout(() => {
    if (!request.complete) request.destroy();
  }, timeoutMs);
  request.once('close', () => clearTimeout(timer));
}

function turnAway(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?', 1)[0] ?? '';
}

function listen(server: Server, host: string, port: number): Promise<number> {
  const listening = Promise.withResolvers<number>();
  server.once('error', listening.reject);
  server.listen(port, host, () => {
    server.off('error', listening.reject);
    listening.resolve((server.address() as AddressInfo).port);
  });
  return listening.promise;
}

function close(server: Server): Promise<void> {
  const closed = Promise.withResolvers<void>();
  server.close(() => closed.resolve());
  server.closeAllConnections();
  return closed.promise;
}
