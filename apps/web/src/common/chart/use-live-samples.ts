'use client';
// Live samples of one app or server since the page was opened, for the end of its charts.
import type { LiveEvent } from '@fairlead/contract/live';
import { useState } from 'react';
import { useLiveEvents } from '../../api/live.tsx';

/** Samples are kept for longer than the time between two refetches. */
const KEPT_MS = 180_000;

/** `pick` returns null for events of other apps or servers. */
export function useLiveSamples<Sample extends { readonly unixMs: number; readonly serverId: string }>(
  pick: (event: LiveEvent) => Sample | null,
): readonly Sample[] {
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  useLiveEvents((event) => {
    const sample = pick(event);
    if (sample === null) return;
    const isKept = (each: Sample) =>
      each.unixMs > sample.unixMs - KEPT_MS && (each.unixMs !== sample.unixMs || each.serverId !== sample.serverId);
    setSamples((before) => [...before.filter(isKept), sample]);
  });
  return samples;
}
