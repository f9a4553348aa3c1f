// Root layout. Reads the request, so every page is rendered for its request and its nonce.
import './globals.css';
import { ToastProvider } from '@fairlead/ui/toast';
import { GeistMono } from 'geist/font/mono';
import { GeistSans } from 'geist/font/sans';
import type { Metadata, Viewport } from 'next';
import { cookies } from 'next/headers';
import { connection } from 'next/server';
import type { ReactNode } from 'react';
import { BrowserViewer } from '../common/region/browser-viewer.tsx';
import { isTheme, type Theme, themeCookie } from '../common/theme/theme.ts';
import { readBrowserViewer } from '../server/viewer.ts';

export const metadata: Metadata = {
  title: { default: 'Fairlead', template: '%s · Fairlead' },
  description: 'Deploys your apps to your own servers.',
  robots: { index: false, follow: false },
};

export const viewport: Viewport = {
  width: 'device-width',
  initialScale: 1,
  themeColor: [
    { media: '(prefers-color-scheme: light)', color: '#fafbfc' },
    { media: '(prefers-color-scheme: dark)', color: '#0f1217' },
  ],
};

export default async function RootLayout({ children }: { readonly children: ReactNode }) {
  await connection();
  const [theme, viewer] = await Promise.all([readTheme(), readBrowserViewer()]);
  return (
    <html
      lang="en"
      className={`${GeistSans.variable} ${GeistMono.variable}`}
      {...(theme === 'system' ? {} : { 'data-theme': theme })}
      // The browser may change the theme before React hydrates.
      suppressHydrationWarning
    >
      <body>
        <BrowserViewer known={viewer}>
          <ToastProvider>{children}</ToastProvider>
        </BrowserViewer>
      </body>
    </html>
  );
}

/** Reads the theme on the server, so that the first paint has it without a script. */
async function readTheme(): Promise<Theme> {
  const value = (await cookies()).get(themeCookie)?.value ?? '';
  return isTheme(value) ? value : 'system';
}
