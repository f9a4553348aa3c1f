// HTTP server of the gateway: agents (WebSocket on /agent, artifacts below it), the web process (/internal/*) and
// health checks (/healthz). Identifies an agent by its key alone: addresses are for limits and the audit log.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { AppError } from '@fairlead/contract/errors';
import type { Log } from '@fairlead/core/kernel';
import { type WebSocket, WebSocketServer } from 'ws';
import type { ArtifactEndpoint } from './artifact/artifact-endpoint.ts';
import { clientAddress, clientNetwork } from './from-proxy.ts';
import { type InspectEndpoint, inspectPath } from './live/inspect-endpoint.ts';
import { type LogEndpoint, logPath } from './live/log-endpoint.ts';
import { type LiveStreams, livePath, refuse } from './live/stream.ts';
import { messageBytesMax } from './session/read-message.ts';

const agentPath = '/agent';
const healthPath = '/healthz';
// Twice the gateway's own limit, so that a message slightly above it still gets a named error.
const frameBytesMax = 2 * messageBytesMax;

export interface HttpServerOptions {
  readonly streams: LiveStreams;
  readonly artifacts: ArtifactEndpoint;
  readonly logEndpoint: LogEndpoint;
  readonly inspectEndpoint: InspectEndpoint;
  /** Addresses and networks of the operator's reverse proxies. */
  readonly trustedProxies: readonly string[];
  /** True if one more agent of that network may connect; may close another connection to make room. */
  readonly hasRoom: (network: string | null) => boolean;
  readonly onAgent: (socket: WebSocket, connection: Duplex, client: Client) => void;
  /** Time limit for the body of a request other than an artifact upload, in milliseconds. */
  readonly bodyTimeoutMs: number;
  readonly log: Log;
}

export interface Client {
  /** Address, for the audit log; null if no trusted proxy names it. It proves nothing. */
  readonly ip: string | null;
  /** IPv4 address or IPv6 /64; null if unknown. */
  readonly network: string | null;
}

export interface HttpServer {
  /** Resolves with the port it listens on. */
  listen(host: string, port: number): Promise<number>;
  close(): Promise<void>;
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { log } = options;
  // The request timeout allows for an artifact upload that takes hours on a slow connection; the artifact endpoint ends
  // idle ones. Every other body has a timeout of its own. Compression stays off: it would let a small message grow
  // large in memory, and frames are compact already.
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
    if (pathOf(request) !== agentPath) return rejectUpgrade(socket, '404 Not Found');
    const ip = clientAddress(request, options.trustedProxies);
    const network = clientNetwork(request, options.trustedProxies);
    if (!options.hasRoom(network)) return rejectUpgrade(socket, '503 Service Unavailable');
    sockets.handleUpgrade(request, socket, head, (agent) => options.onAgent(agent, socket, { ip, network }));
  });

  return { listen: (host, port) => listen(server, host, port), close: () => close(server) };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { streams, artifacts, logEndpoint, inspectEndpoint, bodyTimeoutMs }: HttpServerOptions,
): Promise<void> {
  const path = pathOf(request);
  if (await artifacts.handle(request, response, path)) return;
  boundBody(request, bodyTimeoutMs);
  if (request.method === 'GET' && path === livePath) return streams.handle(request, response);
  if (request.method === 'POST' && path === logPath) return logEndpoint.handle(request, response);
  if (request.method === 'POST' && path === inspectPath) return inspectEndpoint.handle(request, response);
  if (path === healthPath) {
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end('{"status":"ok"}');
    return;
  }
  const status = path === agentPath ? 426 : 404;
  response.writeHead(status, status === 426 ? { upgrade: 'websocket', connection: 'upgrade' } : {}).end();
}

/** Limits the time of a body even if the handler does not read it: a slow body holds a connection. */
function boundBody(request: IncomingMessage, timeoutMs: number): void {
  const timer = setTimeout(() => {
    if (!request.complete) request.destroy();
  }, timeoutMs);
  request.once('close', () => clearTimeout(timer));
}

function rejectUpgrade(socket: Duplex, status: string): void {
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
