// Requests that proxies bring from other machines: the local server's proxy over this process's Unix socket, and the
// operator's over TCP. Invariant: no other client's header is believed.
import type { IncomingMessage } from 'node:http';
import { forwardedAddress, isInRanges, networkOf, plainAddress } from '@fairlead/core/kernel';

/** Mark of a connection over the Unix socket, set when it is accepted (tools/start/control-socket.ts). */
const proxyMark = Symbol.for('fairlead.fromProxy');

/**
 * True for a request over the Unix socket, which only root and the proxy can open. A missing address would not show it:
 * a TCP connection that its client has reset has none either.
 */
export function isFromProxy({ socket }: IncomingMessage): boolean {
  return Reflect.get(socket, proxyMark) === true;
}

/** Returns the client's address; null if no trusted proxy names it. */
export function clientAddress(request: IncomingMessage, trustedProxies: readonly string[]): string | null {
  const forwarded = request.headers['x-forwarded-for'];
  if (typeof forwarded !== 'string') return null;
  // The local proxy writes the client's address first.
  if (isFromProxy(request)) return plainAddress(forwarded.split(',', 1)[0] ?? '');
  const { remoteAddress } = request.socket;
  const isTrusted = remoteAddress !== undefined && isInRanges(remoteAddress, trustedProxies);
  return isTrusted ? forwardedAddress(forwarded, trustedProxies) : null;
}

/**
 * Returns the network of the client, which shares limits: an IPv4 address or an IPv6 /64. Null if it is unknown, as
 * behind a reverse proxy that is not named as trusted.
 */
export function clientNetwork(request: IncomingMessage, trustedProxies: readonly string[]): string | null {
  const address = clientAddress(request, trustedProxies) ?? plainAddress(request.socket.remoteAddress ?? '');
  return address === null || isInRanges(address, loopback) ? null : networkOf(address);
}

const loopback = ['127.0.0.0/8', '::1'];
