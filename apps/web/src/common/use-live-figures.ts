'use client';
// The newest second of each app and server, as the page's stream brings it. Empty until the first sample arrives.
import type { AppSample, ServerSample } from '@fairlead/contract/live';
import { useState } from 'react';
import { useLiveEvents } from '../api/live.tsx';

/** An app on several servers sends one sample each; a row shows the newest, its own page adds them up. */
export function useLiveAppFigures(): ReadonlyMap<string, AppSample> {
  const [figures, setFigures] = useState<ReadonlyMap<string, AppSample>>(new Map());
  useLiveEvents((event) => {
    if (event.type === 'app.sample') setFigures((before) => new Map(before).set(event.appId, event));
  });
  return figures;
}

export function useLiveServerFigures(): ReadonlyMap<string, ServerSample> {
  const [figures, setFigures] = useState<ReadonlyMap<string, ServerSample>>(new Map());
  useLiveEvents((event) => {
    if (event.type === 'server.sample') setFigures((before) => new Map(before).set(event.serverId, event));
  });
  return figures;
}
