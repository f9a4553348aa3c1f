import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isCountedByProxy } from './rate-limited-paths.ts';

const app = join(import.meta.dirname, '../app');
const routes = readdirSync(app, { recursive: true, encoding: 'utf8' })
  .filter((file) => /(^|\/)(route\.ts|page\.tsx)$/.test(file))
  .map((file) => `/${file.replace(/\/?(route\.ts|page\.tsx)$/, '')}`)
  .map((path) => path.replace(/\[[^\]]+\]/g, 'x'));

test('proxy.ts counts every route except those that count themselves and the health check', () => {
  expect(routes.length).toBeGreaterThan(20);
  expect(routes.filter((path) => !isCountedByProxy(path)).sort()).toEqual([
    '/api/audit/export',
    '/api/auth/x',
    '/api/deployment/upload',
    '/api/trpc/x',
    '/api/v1/x',
    '/api/webhook/x',
    '/healthz',
  ]);
});

test('a path without a route is counted, however it is spelled', () => {
  for (const path of [
    '/api',
    '/api/',
    '/api/nothing',
    '/API/auth/sign-in',
    '/healthz/',
    '/Healthz',
    '/api/auth',
    '/_next/image',
    '/api/trpc/',
    '/api/trpc/session.me/x',
  ]) {
    expect(isCountedByProxy(path), path).toBe(true);
  }
});
