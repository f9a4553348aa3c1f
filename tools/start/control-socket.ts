// Preloaded into a service of the control plane (`--import`): what it serves on its TCP port, it also serves on the Unix socket at
// FAIRLEAD_CONTROL_SOCKET, where the proxy of this server connects. A TCP port goes to whoever binds it first; the socket's folder is
// closed to all but root and the proxy.
import { subscribe } from 'node:diagnostics_channel';
import { chmodSync, rmSync } from 'node:fs';
import { Server as HttpServer } from 'node:http';
import { createServer } from 'node:net';

/** Connecting needs the right to write (unix(7)); the folder is the wall. */
const SOCKET_MODE = 0o666;

const path = process.env.FAIRLEAD_CONTROL_SOCKET ?? '';
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

/** https://nodejs.org/api/http.html#event-connection: a server takes connections that others accepted. */
function serveOn(server: HttpServer, socket: string): void {
  const listener = createServer((connection) => server.emit('connection', connection));
  // Left by a service that was killed.
  rmSync(socket, { force: true });
  listener.listen(socket, () => chmodSync(socket, SOCKET_MODE));
  server.once('close', () => listener.close());
  // The TCP server keeps the process; without it nothing is served here either.
  listener.unref();
}
