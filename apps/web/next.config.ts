// Next.js configuration of the web app. Invariant: the build needs no database and no network, because `next build`
// runs in a bare clone.
import { resolve } from 'node:path';
import type { NextConfig } from 'next';

const root = resolve(import.meta.dirname, '../..');

const app = '/:organization/apps/:slug';
const nosniff = { key: 'X-Content-Type-Options', value: 'nosniff' };

const config: NextConfig = {
  output: 'standalone',
  outputFileTracingRoot: root,
  turbopack: { root },
  transpilePackages: [
    '@fairlead/api',
    '@fairlead/auth',
    '@fairlead/contract',
    '@fairlead/core',
    '@fairlead/db',
    '@fairlead/outbound',
    '@fairlead/mail',
    '@fairlead/report',
    '@fairlead/settings',
    '@fairlead/ui',
  ],
  serverExternalPackages: ['nodemailer', 'pg', 'pino'],
  experimental: {
    // Navigations while the network is down wait for it, instead of leaving the dashboard for the browser's error page.
    useOffline: true,
    // Members without the permission of a page see forbidden.tsx.
    authInterrupts: true,
  },
  outputFileTracingIncludes: {
    // The documentation that /docs serves.
    '/docs/**': ['../../CHANGELOG.md', '../../docs/*.md'],
    // Templates of new apps.
    '/api/**': ['../../examples/**/*'],
  },
  poweredByHeader: false,
  // Disables the image optimizer, which would fetch and resize images for strangers. The product serves no photos.
  images: { unoptimized: true },
  // proxy.ts sets all security headers on the pages that it serves; static files bypass it.
  headers: async () => [
    { source: '/_next/static/:path*', headers: [nosniff] },
    { source: '/icon.svg', headers: [nosniff] },
  ],
  // Old addresses of an app's pages, which people and git hosts have kept. The query stays.
  redirects: async () => [
    { source: `${app}/releases`, destination: `${app}/deployments`, permanent: true },
    { source: `${app}/config`, destination: `${app}/settings/source`, permanent: true },
    { source: `${app}/secrets`, destination: `${app}/variables`, permanent: true },
    { source: `${app}/settings`, destination: `${app}/settings/general`, permanent: false },
  ],
  reactStrictMode: true,
  devIndicators: false,
  // `npm run verify` checks the types of the whole workspace; starting the product need not check them again.
  typescript: { ignoreBuildErrors: true },
};

export default config;
