import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { unstable_doesMiddlewareMatch } from 'next/experimental/testing/server';
import { expect, test } from 'vitest';
import nextConfig from '../next.config.ts';
import { config } from './proxy.ts';

/** Next's own code compiles the matcher, as in the build. */
const isSeen = (path: string, matcher: unknown = config.matcher) =>
  unstable_doesMiddlewareMatch({ config: { matcher } as typeof config, nextConfig, url: path });

const organizationPages = readdirSync(join(import.meta.dirname, 'app/[organization]'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
/** Next reads each path as the slug of an organization. */
const lookalikes = [
  'icon.svgx',
  'icon.svg.x',
  'iconXsvg',
  'icon.svg%20',
  'icon%2Esvg',
  'ICON.SVG',
  '_next',
  '_next%2Fstatic',
];

test('proxy.ts sees every page, also below a name that looks like a static file', () => {
  expect(organizationPages.length).toBeGreaterThan(3);
  for (const organization of [...lookalikes, 'icon.svg', '_next/staticx']) {
    for (const page of organizationPages) expect(isSeen(`/${organization}/${page}`), organization).toBe(true);
  }
  for (const path of [
    '/',
    '/sign-in',
    '/healthz',
    '/api/trpc/a',
    '/api/v1/app/list',
    '/api/deployment/uploads',
    ...lookalikes.map((name) => `/${name}`),
  ]) {
    expect(isSeen(path), path).toBe(true);
  }
  for (const suffix of ['/', '.rsc', '.json', '/x', '.segments/x.segment.rsc']) {
    for (const path of ['/icon.svg', '/api/deployment/upload', '/api/v1/deployment/upload']) {
      expect(isSeen(`${path}${suffix}`), `${path}${suffix}`).toBe(true);
    }
  }
});

test('proxy.ts leaves out static files and uploads alone', () => {
  for (const path of [
    '/icon.svg',
    '/_next/static/chunks/a.js',
    '/api/deployment/upload',
    '/api/v1/deployment/upload',
  ]) {
    expect(isSeen(path), path).toBe(false);
    expect(isSeen(`${path}?x=1`), path).toBe(false);
  }
});

test('a matcher without anchors misses pages', () => {
  const loose = [{ source: '/((?!_next/static|icon.svg|api/deployment/upload$|api/v1/deployment/upload$).*)' }];
  for (const path of ['/icon.svgx', '/iconXsvg/deployments', '/icon.svg/apps']) {
    expect(isSeen(path, loose), path).toBe(false);
  }
});
