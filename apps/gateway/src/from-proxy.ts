// Requests that the local server's proxy brings from other machines over this process's Unix socket.
import type { IncomingMessage } from 'node:http';
import { plainAddress } from '@fairlead/core/kernel';

/** True for a request over the Unix socket, where a connection has no address. Only root and the proxy can open it. */
export function isFromProxy({ socket }: IncomingMessage): boolean {
  return socket.remoteAddress === undefined;
}

/** Returns the client's address, which the proxy writes first; null if the request did not come from the proxy. */
export function clientAddress(request: IncomingMessage): string | null {
  const forwarded = request.headers['x-forwarded-for'];
  if (!isFromProxy(request) || typeof forwarded !== 'string') return null;
  return plainAddress(forwarded.split(',', 1)[0] ?? '');
}
