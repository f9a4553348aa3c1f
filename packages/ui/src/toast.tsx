'use client';
// Toasts: short messages with an optional action (Undo, View). Their region is loaded with the other popups once the page
// is idle, so that screen readers know it before the first toast, and so that popups open at once.
import {
  createContext,
  type ReactNode,
  Suspense,
  startTransition,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useState,
} from 'react';
import { ToastRegion } from './popups.tsx';
import type { Tone } from './state-pill.tsx';

export interface ToastInput {
  readonly tone?: Extract<Tone, 'ok' | 'bad' | 'warn' | 'busy'>;
  readonly title: string;
  readonly detail?: string;
  readonly action?: { readonly label: string; readonly onSelect: () => void };
}

export interface QueuedToast {
  readonly id: string;
  readonly input: ToastInput;
}

const ToastContext = createContext<(toast: ToastInput) => void>(() => undefined);

export function useToast(): (toast: ToastInput) => void {
  return useContext(ToastContext);
}

export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [queue, setQueue] = useState<readonly QueuedToast[]>([]);
  const [isIdle, setIsIdle] = useState(false);
  useEffect(() => whenIdle(() => startTransition(() => setIsIdle(true))), []);
  const add = useMemo(() => {
    let next = 0;
    return (input: ToastInput) => {
      next += 1;
      const toast: QueuedToast = { id: `toast-${next}`, input };
      setQueue((waiting) => [...waiting, toast]);
    };
  }, []);
  const remove = useCallback((shown: readonly QueuedToast[]) => {
    setQueue((waiting) => waiting.filter((toast) => !shown.includes(toast)));
  }, []);

  return (
    <ToastContext value={add}>
      {children}
      {isIdle || queue.length > 0 ? (
        <Suspense fallback={null}>
          <ToastRegion queue={queue} onShown={remove} />
        </Suspense>
      ) : null}
    </ToastContext>
  );
}

/** Safari has no `requestIdleCallback`. The returned function cancels. */
function whenIdle(run: () => void): () => void {
  if (typeof window.requestIdleCallback === 'undefined') {
    const timer = window.setTimeout(run, 500);
    return () => window.clearTimeout(timer);
  }
  const handle = window.requestIdleCallback(run, { timeout: 2000 });
  return () => window.cancelIdleCallback(handle);
}
