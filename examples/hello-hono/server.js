import { serve } from '@hono/node-server';
import { Hono } from 'hono';

const app = new Hono();
app.get('/', (context) => context.text('Hello from Hono'));
app.get('/api/hello', (context) => context.json({ hello: 'Hono' }));

const server = serve({ fetch: app.fetch, port: Number(process.env.PORT) });
process.once('SIGTERM', () => server.close());
