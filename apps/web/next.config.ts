// How the web app is built. Nothing here may need a database or a network: `next build` runs in a bare clone.
import { resolve } from 'node:path';
import type { NextConfig } from 'next';

const root = resolve(import.meta.dirname, '../..');

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
    '@fairlead/ui',
  ],
  serverExternalPackages: ['nodemailer', 'pg', 'pino'],
  poweredByHeader: false,
  // Closes the image optimizer, which would fetch and resize for strangers. The product takes no pictures.
  images: { unoptimized: true },
  // proxy.ts sets all security headers on the pages that it serves; static files bypass it.
  headers: async () => [
    { source: '/_next/static/:path*', headers: [nosniff] },
    { source: '/icon.svg', headers: [nosniff] },
  ],
  reactStrictMode: true,
  devIndicators: false,
  // `npm run verify` checks the types of the whole workspace; whoever only starts the product need not wait for it twice.
  typescript: { ignoreBuildErrors: true },
};

export default config;
