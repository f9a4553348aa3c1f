// Locale and time zone of the viewer, so that the server renders the same text as the browser.
import 'server-only';
import { isTimeZone } from '@fairlead/core/kernel/region';
import type { Viewer } from '@fairlead/ui/formats';
import { cookies, headers } from 'next/headers';
import { timeZoneCookie } from '../common/region/time-zone-cookie.ts';
import { acceptedLocale } from './accepted-locale.ts';
import type { PageApi } from './page-api.tsx';

/** Returns those of the browser; UTC until the browser has set its cookie. */
export async function readBrowserViewer(): Promise<Viewer> {
  const timeZone = (await cookies()).get(timeZoneCookie)?.value ?? '';
  return {
    locale: acceptedLocale((await headers()).get('accept-language') ?? ''),
    timeZone: isTimeZone(timeZone) ? timeZone : 'UTC',
  };
}

/** Returns the zone in which the viewer counts days: the account's, otherwise the browser's. */
export async function readTimeZone({ require, queryClient, trpc }: PageApi): Promise<string> {
  const { user } = await require(queryClient.fetchQuery(trpc.session.me.queryOptions()));
  return user.timeZone ?? (await readBrowserViewer()).timeZone;
}
