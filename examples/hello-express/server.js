import express from 'express';

const app = express();
app.get('/', (_request, response) => response.send('Hello from Express'));
app.get('/api/hello', (_request, response) => response.json({ hello: 'Express' }));

const server = app.listen(Number(process.env.PORT));
process.once('SIGTERM', () => server.close());
