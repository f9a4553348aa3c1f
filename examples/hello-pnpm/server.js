// Answers every request with a greeting, on the port that PORT names. Its one dependency shows that pnpm installed it.
import { createServer } from 'node:http';
import ms from 'ms';

const text = `Hello from pnpm, a day is ${ms('1d')} ms\n`;
const server = createServer((_request, response) => response.end(text));
server.listen(Number(process.env.PORT), '127.0.0.1');
process.once('SIGTERM', () => server.close(() => process.exit(0)));
