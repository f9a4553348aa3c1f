import { Elysia } from 'elysia';

new Elysia()
  .get('/', () => 'Hello from Elysia')
  .get('/api/hello', () => ({ hello: 'Elysia' }))
  .listen(Number(process.env.PORT));
