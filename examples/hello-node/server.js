// The sample app: an ordinary Node HTTP server. It reads its port from PORT, answers /healthz, and on SIGTERM stops
// accepting, finishes what is in flight and exits: all that a deploy without a failed request asks of an app.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { page } from './page.js';

const startedAt = new Date();
const port = Number(process.env.PORT);
if (!Number.isInteger(port) || port < 1 || port > 65_535) {
  console.error('PORT must be set to the port to listen on');
  process.exit(1);
}

const html = page({ startedAt, version: process.version, release: process.env.FAIRLEAD_RELEASE_ID ?? 'local' });
const stopping = new AbortController();

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://app');
  const route = routes[url.pathname];
  if (route === undefined) {
    response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('Nothing here.\n');
    return;
  }
  route(request, response, url);
});

const routes = {
  '/': (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-length': html.length }).end(html);
  },
  '/healthz': (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end('ok\n');
  },
  '/echo': (request, response) => {
    response.writeHead(200, { 'content-type': request.headers['content-type'] ?? 'application/octet-stream' });
    request.pipe(response);
  },
  // Answers after ?ms=, at most 30 s: shows what draining means.
  '/slow': async (_request, response, url) => {
    const waitMs = Math.min(Math.max(Number(url.searchParams.get('ms') ?? 1000) || 0, 0), 30_000);
    await delay(waitMs);
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(`waited ${waitMs} ms\n`);
  },
  // One event a second until the client goes or the app stops.
  '/events': async (request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' });
    const gone = AbortSignal.any([stopping.signal, closedSignal(request)]);
    for (let count = 0; !gone.aborted; count++) {
      response.write(`id: ${count}\ndata: ${new Date().toISOString()}\n\n`);
      await delay(1000, undefined, { signal: gone }).catch(() => undefined);
    }
    response.end();
  },
};

function closedSignal(request) {
  const closed = new AbortController();
  request.once('close', () => closed.abort());
  return closed.signal;
}

function stop() {
  stopping.abort();
  server.close(() => process.exit(0));
  server.closeIdleConnections();
}

process.once('SIGTERM', stop);
process.once('SIGINT', stop);

// Longer than any proxy keeps an idle connection, so that it is the proxy that closes first.
server.keepAliveTimeout = 75_000;
server.listen(port, process.env.HOST ?? '0.0.0.0', () => console.log(`hello-node listens on port ${port}`));
