'use client';
// Provides the browser's locale and time zone to all pages. An account's own choice overrides them further down.
import { type Viewer, ViewerProvider } from '@fairlead/ui/formats';
import { type ReactNode, useEffect, useState } from 'react';
import { storeTimeZone } from './time-zone-cookie.ts';

export interface BrowserViewerProps {
  /** As the request has it: the first page of a browser is rendered without its time zone. */
  readonly known: Viewer;
  readonly children: ReactNode;
}

export function BrowserViewer({ known: { locale, timeZone: knownZone }, children }: BrowserViewerProps) {
  const [timeZone, setTimeZone] = useState(knownZone);
  useEffect(() => {
    const own = new Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (own === knownZone) return;
    storeTimeZone(own);
    setTimeZone(own);
  }, [knownZone]);
  return (
    <ViewerProvider locale={locale} timeZone={timeZone}>
      {children}
    </ViewerProvider>
  );
}
