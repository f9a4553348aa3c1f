import { createServer } from 'node:http';

const server = createServer((request, response) => {
  if (request.url === '/api/hello') response.setHeader('content-type', 'application/json').end('{"hello":"Procfile"}');
  else response.end('Hello from a Procfile');
});
server.listen(Number(process.env.PORT));
process.once('SIGTERM', () => server.close());
