'use client';
// Toasts at the bottom of the page: short messages with an optional action (Undo, View).
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from 'react';
import { IconButton } from './button.tsx';
import { CrossIcon } from './cross-icon.tsx';
import { StateMark, type Tone } from './state-pill.tsx';

export interface ToastInput {
  readonly tone?: Extract<Tone, 'ok' | 'bad' | 'warn' | 'busy'>;
  readonly title: string;
  readonly detail?: string;
  readonly action?: { readonly label: string; readonly onSelect: () => void };
}

interface Toast extends ToastInput {
  readonly id: number;
}

const SHOWN_MS = 6000;
const SHOWN_MAX = 3;

const ToastContext = createContext<(toast: ToastInput) => void>(() => undefined);

export function useToast(): (toast: ToastInput) => void {
  return useContext(ToastContext);
}

export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const remove = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), []);
  const add = useMemo(() => {
    let next = 0;
    return (input: ToastInput) => {
      next += 1;
      const toast: Toast = { ...input, id: next };
      setToasts((all) => [...all, toast].slice(-SHOWN_MAX));
    };
  }, []);

  return (
    <ToastContext value={add}>
      {children}
      <section
        aria-label="Notifications"
        aria-live="polite"
        className="pointer-events-none fixed right-4 bottom-4 z-50 flex w-[calc(100vw-2rem)] max-w-sm flex-col gap-2 max-md:bottom-20"
      >
        {toasts.map((toast) => (
          <ToastCard key={toast.id} toast={toast} onClose={remove} />
        ))}
      </section>
    </ToastContext>
  );
}

function ToastCard({ toast, onClose }: { readonly toast: Toast; readonly onClose: (id: number) => void }) {
  const [held, setHeld] = useState(false);
  useEffect(() => {
    if (held) return;
    const timer = setTimeout(() => onClose(toast.id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [held, onClose, toast.id]);

  return (
    <div
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      className="pointer-events-auto flex animate-arrive items-start gap-3 rounded-card border border-line bg-raised py-2.5 pr-2 pl-3.5 shadow-float"
    >
      <span className="mt-1">
        <StateMark tone={toast.tone ?? 'ok'} />
      </span>
      <div className="min-w-0 flex-1">
        <p className="font-medium text-ink">{toast.title}</p>
        {toast.detail ? <p className="mt-0.5 text-sm text-ink-soft">{toast.detail}</p> : null}
        {toast.action ? (
          <button
            type="button"
            className="mt-1 text-sm font-medium text-accent-text hover:underline"
            onClick={() => {
              toast.action?.onSelect();
              onClose(toast.id);
            }}
          >
            {toast.action.label}
          </button>
        ) : null}
      </div>
      <IconButton label="Dismiss" size="small" onClick={() => onClose(toast.id)}>
        <CrossIcon size={14} />
      </IconButton>
    </div>
  );
}
