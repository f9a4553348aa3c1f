'use client';
// Shared clock of the page: all relative times read it, so that no component needs a timer of its own.
import { useSyncExternalStore } from 'react';

type Listener = () => void;

function createClock(everyMs: number) {
  const listeners = new Set<Listener>();
  let now = Date.now();
  let timer: ReturnType<typeof setInterval> | null = null;
  return {
    subscribe(listener: Listener): () => void {
      listeners.add(listener);
      timer ??= setInterval(() => {
        now = Date.now();
        for (const each of listeners) each();
      }, everyMs);
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0 || timer === null) return;
        clearInterval(timer);
        timer = null;
      };
    },
    read(): number {
      // Without listeners the clock stands still, so a first reader would see an old time.
      if (timer === null && Date.now() - now >= everyMs) now = Date.now();
      return now;
    },
  };
}

const everySecond = createClock(1000);
const everyTenth = createClock(100);

/** Returns the time in milliseconds since 1970, updated each second, or each tenth of a second for running timers. */
export function useNow(precision: 'second' | 'tenth' = 'second'): number {
  const clock = precision === 'second' ? everySecond : everyTenth;
  return useSyncExternalStore(clock.subscribe, clock.read, clock.read);
}
