import { expect, test } from 'vitest';
import { developmentServer, developmentServerOfHeader } from './development-servers.ts';

test.each([
  ['node /app/node_modules/.bin/vite', 'vite'],
  ['node /app/node_modules/vite/bin/vite.js --port 3000', 'vite'],
  ['node /app/node_modules/react-scripts/scripts/start.js', 'react-scripts start'],
  ['node /app/node_modules/.bin/next dev', 'next dev'],
  ['node /app/node_modules/.bin/astro dev', 'astro dev'],
  ['node /app/node_modules/.bin/nest start', 'nest start'],
  ['node /app/node_modules/@angular/cli/bin/ng.js serve', 'ng serve'],
  ['node /app/node_modules/@11ty/eleventy/cmd.cjs --serve --quiet', 'eleventy --serve'],
  ['node /app/node_modules/.bin/nodemon src/index.js', 'nodemon'],
  ['node --watch server.js', 'node --watch'],
  ['bun run --hot src/index.ts', 'bun --hot'],
  ['python3 manage.py runserver 0.0.0.0:80', 'manage.py runserver'],
  ['/usr/bin/python3 -m flask run --debug', 'flask run'],
  ['python3 -m uvicorn main:app --reload', 'uvicorn --reload'],
])('%s is a development server', (line, name) => {
  expect(developmentServer(line.split(' '))).toBe(name);
});

test.each([
  'node server.js',
  'node dist/main',
  'node /app/node_modules/.bin/next start',
  'next-server (v15.0.0)',
  'node /app/node_modules/.bin/vinxi start',
  'node /app/node_modules/.bin/react-router-serve ./build/server/index.js',
  'node /app/node_modules/.bin/serve -s _static',
  'bun src/index.ts',
  'deno run --allow-net main.ts',
  'python3 -m gunicorn app:app',
  'python3 -m uvicorn main:app --port 80',
  '/app/.fairlead/bin/app --port 80',
  'node server.js dev',
])('%s is none', (line) => {
  expect(developmentServer(line.split(' '))).toBeUndefined();
});

test.each([
  ['Werkzeug/1.0.1 Python/3.11.7', 'Werkzeug/1.0.1 Python/3.11.7'],
  ['WSGIServer/0.2 CPython/3.11.7', 'WSGIServer/0.2 CPython/3.11.7'],
  ['gunicorn', undefined],
  ['uvicorn', undefined],
  [undefined, undefined],
])('the Server header %s names %s', (header, server) => {
  expect(developmentServerOfHeader(header)).toBe(server);
});
