// App of the benchmark lab for Node.js: a process per core (module cluster). Placeholders between at signs come from the lab.
import cluster from 'node:cluster';
import { createServer } from 'node:http';

const body = 'x'.repeat(@RESPONSE_BYTES@);
const delayMs = @RESPONSE_DELAY_MS@;

if (cluster.isPrimary) {
  for (let worker = 0; worker < @WORKERS@; worker += 1) cluster.fork();
  cluster.on('exit', () => process.exit(1));
} else {
  const server = createServer((_, response) => {
    const answer = () => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': body.length });
      response.end(body);
    };
    if (delayMs === 0) answer();
    else setTimeout(answer, delayMs);
  });
  // Longer than a proxy keeps an idle connection: else a request could meet the end of its connection.
  server.keepAliveTimeout = 75_000;
  server.listen({ host: '127.0.0.1', port: @APP_PORT@, backlog: 4096 });
}
