'use client';
// Formats of numbers and times in the viewer's locale and time zone, for all components below a provider. The viewer is
// never module state: a server renders pages of several viewers at once.
import { createContext, type ReactNode, useContext, useMemo } from 'react';
import { type NumberFormats, numberFormats } from './lib/format.ts';
import { type TimeFormats, timeFormats } from './lib/time-format.ts';

export interface Viewer {
  readonly locale: string;
  readonly timeZone: string;
}

export type Formats = NumberFormats & TimeFormats;

const ViewerContext = createContext<Viewer>({ locale: 'en-US', timeZone: 'UTC' });

export interface ViewerProviderProps {
  /** Null: that of the provider above. */
  readonly locale: string | null;
  readonly timeZone: string | null;
  readonly children: ReactNode;
}

export function ViewerProvider({ locale, timeZone, children }: ViewerProviderProps) {
  const above = useContext(ViewerContext);
  const viewer = useMemo(
    () => ({ locale: locale ?? above.locale, timeZone: timeZone ?? above.timeZone }),
    [locale, timeZone, above],
  );
  return <ViewerContext value={viewer}>{children}</ViewerContext>;
}

// Entries by the context's value: one a page in the browser, one a request on the server.
const known = new WeakMap<Viewer, Formats>();

export function useViewer(): Viewer {
  return useContext(ViewerContext);
}

export function useFormats(): Formats {
  const viewer = useViewer();
  let formats = known.get(viewer);
  if (formats === undefined) {
    formats = formatsOf(viewer);
    known.set(viewer, formats);
  }
  return formats;
}

/** Returns the formats of a viewer outside of components. */
export function formatsOf({ locale, timeZone }: Viewer): Formats {
  return { ...numberFormats(locale), ...timeFormats(locale, timeZone) };
}
