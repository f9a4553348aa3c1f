import { createServer } from 'node:http';
import { greeting } from '@hello/greeting';

const server = createServer((request, response) => {
  if (request.url === '/api/hello')
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ hello: 'an npm workspace' }));
  else response.end(greeting('an npm workspace'));
});
server.listen(Number(process.env.PORT));
process.once('SIGTERM', () => server.close());
