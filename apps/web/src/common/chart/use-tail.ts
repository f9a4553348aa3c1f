'use client';
// Live samples since the page was opened, as rows; keeps only as many as fit between two refetches.
import type { LiveEvent } from '@fairlead/contract/live';
import type { TimeRow } from '@fairlead/ui/charts/prepare/time-series';
import { useState } from 'react';
import { useLiveEvents } from '../../api/live.tsx';

const KEPT_MS = 180_000;

export function useTail(toRow: (event: LiveEvent) => TimeRow | null): readonly TimeRow[] {
  const [tail, setTail] = useState<readonly TimeRow[]>([]);
  useLiveEvents((event) => {
    const row = toRow(event);
    if (row !== null)
      setTail((rows) => [...rows.filter((each) => each.at > row.at - KEPT_MS && each.at !== row.at), row]);
  });
  return tail;
}
