// Next.js configuration of the web app. Invariant: the build needs no database and no network, because `next build`
// runs in a bare clone.
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
    '@fairlead/settings',
    '@fairlead/ui',
  ],
  serverExternalPackages: ['nodemailer', 'pg', 'pino'],
  poweredByHeader: false,
  // Disables the image optimizer, which would fetch and resize images for strangers. The product serves no photos.
  images: { unoptimized: true },
  // proxy.ts sets all security headers on the pages that it serves; static files bypass it.
  headers: async () => [
    { source: '/_next/static/:path*', headers: [nosniff] },
    { source: '/icon.svg', headers: [nosniff] },
  ],
  reactStrictMode: true,
  devIndicators: false,
  // `npm run verify` checks the types of the whole workspace; starting the product need not check them again.
  typescript: { ignoreBuildErrors: true },
};

export default config;
