'use client';
// Latest samples of each app and server from the page's live stream. Empty until the first sample arrives.
import type { LiveEvent, ServerSample } from '@fairlead/contract/live';
import { useEffect, useMemo, useRef, useState } from 'react';
import { useLiveEvents } from '../../api/live.tsx';
import { type AppFigures, sumSamples } from './app-figures.ts';

/** Minimum time between renders in milliseconds: hundreds of apps send a sample each second. */
const DRAW_EVERY_MS = 250;

/** Returns the figures by app and environment, summed over the app's servers. */
export function useLiveAppFigures(): ReadonlyMap<string, AppFigures> {
  const samples = useLatest((event) =>
    event.type === 'app.sample'
      ? { id: `${placementKey(event.appId, event.environmentId)} ${event.serverId}`, sample: event }
      : null,
  );
  return useMemo(() => {
    const placements = Map.groupBy(samples.values(), (sample) => placementKey(sample.appId, sample.environmentId));
    return new Map([...placements].map(([placement, group]) => [placement, sumSamples(group)]));
  }, [samples]);
}

/** Returns the key of an app in one of its environments. */
export function placementKey(appId: string, environmentId: string): string {
  return `${appId} ${environmentId}`;
}

export function useLiveServerFigures(): ReadonlyMap<string, ServerSample> {
  return useLatest((event) => (event.type === 'server.sample' ? { id: event.serverId, sample: event } : null));
}

function useLatest<Sample>(
  pick: (event: LiveEvent) => { readonly id: string; readonly sample: Sample } | null,
): ReadonlyMap<string, Sample> {
  const [shown, setShown] = useState<ReadonlyMap<string, Sample>>(new Map());
  const waiting = useRef(new Map<string, Sample>());
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    },
    [],
  );
  useLiveEvents((event) => {
    const picked = pick(event);
    if (picked === null) return;
    waiting.current.set(picked.id, picked.sample);
    timer.current ??= setTimeout(() => {
      timer.current = null;
      const arrived = waiting.current;
      waiting.current = new Map();
      setShown((before) => new Map([...before, ...arrived]));
    }, DRAW_EVERY_MS);
  });
  return shown;
}
