'use client';
// Latest samples of each app and server from the page's live stream. Empty until the first sample arrives.
import type { AppSample, ServerSample } from '@fairlead/contract/live';
import { useEffect, useRef, useState } from 'react';
import { useLiveEvents } from '../../api/live.tsx';
import { type AppFigures, mergeSamples, WINDOW_MS } from './app-figures.ts';

/** Minimum time between renders in milliseconds: hundreds of apps send a sample each second. */
const DRAW_EVERY_MS = 250;

/** Returns the figures by app and environment, over all of the app's servers. */
export function useLiveAppFigures(): ReadonlyMap<string, AppFigures> {
  const [shown, setShown] = useState<ReadonlyMap<string, AppFigures>>(new Map());
  const samples = useRef(new Map<string, AppSample[]>());
  const arrived = useRef(new Set<string>());
  const draw = useDraw(() => {
    const keys = [...arrived.current];
    arrived.current = new Set();
    setShown((before) => {
      const next = new Map(before);
      for (const key of keys) next.set(key, mergeSamples(samples.current.get(key) ?? [], before.get(key)));
      return next;
    });
  });
  useLiveEvents((event) => {
    if (event.type !== 'app.sample') return;
    const key = placementKey(event.appId, event.environmentId);
    const kept = (samples.current.get(key) ?? []).filter(({ unixMs }) => unixMs > event.unixMs - WINDOW_MS);
    samples.current.set(key, [...kept, event]);
    arrived.current.add(key);
    draw();
  });
  return shown;
}

/** Returns the key of an app in one of its environments. */
export function placementKey(appId: string, environmentId: string): string {
  return `${appId} ${environmentId}`;
}

/** Returns the newest sample of each server. */
export function useLiveServerFigures(): ReadonlyMap<string, ServerSample> {
  const [shown, setShown] = useState<ReadonlyMap<string, ServerSample>>(new Map());
  const waiting = useRef(new Map<string, ServerSample>());
  const draw = useDraw(() => {
    const arrived = waiting.current;
    waiting.current = new Map();
    setShown((before) => new Map([...before, ...arrived]));
  });
  useLiveEvents((event) => {
    if (event.type !== 'server.sample') return;
    waiting.current.set(event.serverId, event);
    draw();
  });
  return shown;
}

/** Returns a function that calls `apply` soon, once for all calls until then. */
function useDraw(apply: () => void): () => void {
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    },
    [],
  );
  return () => {
    timer.current ??= setTimeout(() => {
      timer.current = null;
      apply();
    }, DRAW_EVERY_MS);
  };
}
