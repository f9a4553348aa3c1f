// Preload (`--import`) for services of the control plane: serves the TCP port also on the Unix socket at
// FAIRLEAD_CONTROL_SOCKET, for this server's proxy. Another program could bind the TCP port first; only root and the
// proxy can enter the socket's folder. So X-Forwarded-For is believed on the socket, and hidden on the TCP port.
import { subscribe } from 'node:diagnostics_channel';
import { chmodSync, rmSync } from 'node:fs';
import { Server as HttpServer, type IncomingMessage } from 'node:http';
import { createServer, type Socket } from 'node:net';

/** The gateway reads this mark of a connection (apps/gateway/src/from-proxy.ts). */
const PROXY_MARK = Symbol.for('fairlead.fromProxy');

/** Connecting needs write permission (unix(7)); the folder restricts access. */
const SOCKET_MODE = 0o666;

const path = process.env.FAIRLEAD_CONTROL_SOCKET ?? '';
/** Proxies of the operator forward to the TCP port, and the service checks their addresses. */
const believesTcp = /[^\s,]/.test(process.env.FAIRLEAD_TRUSTED_PROXIES ?? '');
let isOpen = false;

// https://nodejs.org/api/diagnostics_channel.html, tracing:net.server.listen
if (path !== '') {
  subscribe('tracing:net.server.listen:asyncEnd', (message) => {
    const { server } = message as { server: unknown };
    if (server instanceof HttpServer && !isOpen) {
      isOpen = true;
      serveOn(server, path);
    }
  });
}

function hideForged({ socket, headers }: { socket: Socket; headers: IncomingMessage['headers'] }): void {
  // Not deleted: Next would fill in the address of the connection, which may be a forgotten reverse proxy's.
  if (Reflect.get(socket, PROXY_MARK) !== true && !believesTcp) headers['x-forwarded-for'] = 'unknown';
}

/** https://nodejs.org/api/http.html#event-connection: an HTTP server accepts connections from another listener. */
function serveOn(server: HttpServer, socket: string): void {
  const listener = createServer((connection) => {
    Reflect.set(connection, PROXY_MARK, true);
    server.emit('connection', connection);
  });
  server.prependListener('request', hideForged);
  // Without a listener of its own, the server would take an upgrade as a request.
  if (server.listenerCount('upgrade') > 0) server.prependListener('upgrade', hideForged);
  // A killed service leaves its socket behind.
  rmSync(socket, { force: true });
  listener.listen(socket, () => chmodSync(socket, SOCKET_MODE));
  server.once('close', () => listener.close());
  // The TCP server keeps the process alive; without it this socket serves nothing either.
  listener.unref();
}
