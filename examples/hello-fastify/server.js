import Fastify from 'fastify';

const app = Fastify({ logger: true });
app.get('/', () => 'Hello from Fastify');
app.get('/api/hello', () => ({ hello: 'Fastify' }));

await app.listen({ port: Number(process.env.PORT), host: '0.0.0.0' });
process.once('SIGTERM', () => app.close());
