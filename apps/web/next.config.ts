// How the web app is built. Nothing here may need a database or a network: `next build` runs in a bare clone.
import { resolve } from 'node:path';
import type { NextConfig } from 'next';

const root = resolve(import.meta.dirname, '../..');

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
    '@fairlead/mail',
    '@fairlead/ui',
  ],
  serverExternalPackages: ['nodemailer', 'pg', 'pino'],
  poweredByHeader: false,
  reactStrictMode: true,
  devIndicators: false,
  // `npm run verify` checks the types of the whole workspace; whoever only starts the product need not wait for it twice.
  typescript: { ignoreBuildErrors: true },
};

export default config;
