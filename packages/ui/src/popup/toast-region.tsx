'use client';
// Toasts at the bottom of the page, on Base UI: they wait while hovered or focused, and F6 moves to them.
import { Toast } from '@base-ui/react/toast';
import { useEffect } from 'react';
import { IconButton } from '../button.tsx';
import { CrossIcon } from '../cross-icon.tsx';
import { StateMark } from '../state-pill.tsx';
import type { QueuedToast, ToastInput } from '../toast.tsx';

const SHOWN_MS = 6000;
const SHOWN_MAX = 3;
/** Overrides Base UI's dialog role: a toast needs no answer. */
const GROUP = { role: 'group', 'aria-modal': undefined } as const;

export interface ToastRegionProps {
  readonly queue: readonly QueuedToast[];
  /** Runs when toasts of the queue are shown. */
  readonly onShown: (shown: readonly QueuedToast[]) => void;
}

export function ToastRegion({ queue, onShown }: ToastRegionProps) {
  return (
    <Toast.Provider timeout={SHOWN_MS} limit={SHOWN_MAX}>
      <Toast.Portal>
        <Toast.Viewport className="pointer-events-none fixed right-4 bottom-4 z-50 flex w-[calc(100vw-2rem)] max-w-sm flex-col-reverse gap-2 rounded-card outline-offset-4 max-md:bottom-20">
          <Toasts queue={queue} onShown={onShown} />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function Toasts({ queue, onShown }: ToastRegionProps) {
  const { toasts, add, close } = Toast.useToastManager<ToastInput>();
  useEffect(() => {
    if (queue.length === 0) return;
    for (const { id, input } of queue) {
      add({ id, title: input.title, description: input.detail, data: input });
    }
    onShown(queue);
  }, [queue, onShown, add]);

  return toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      {...GROUP}
      swipeDirection={['right', 'down']}
      className="pointer-events-auto flex translate-x-(--toast-swipe-movement-x) translate-y-(--toast-swipe-movement-y) animate-arrive items-start gap-3 rounded-card border border-line bg-raised py-2.5 pr-2 pl-3.5 shadow-float data-limited:hidden"
    >
      <span className="mt-1">
        <StateMark tone={toast.data?.tone ?? 'ok'} />
      </span>
      <div className="min-w-0 flex-1">
        <Toast.Title render={<p />} className="font-medium text-ink" />
        <Toast.Description className="mt-0.5 text-sm text-ink-soft" />
        <ToastAction action={toast.data?.action} onDone={() => close(toast.id)} />
      </div>
      {/* Toasts are never stacked: a close button of Base UI would be hidden until the stack unfolds. */}
      <IconButton label="Dismiss" size="small" onClick={() => close(toast.id)}>
        <CrossIcon size={14} />
      </IconButton>
    </Toast.Root>
  ));
}

function ToastAction({ action, onDone }: { readonly action: ToastInput['action']; readonly onDone: () => void }) {
  if (action === undefined) return null;
  return (
    <Toast.Action
      className="mt-1 text-sm font-medium text-accent-text hover:underline"
      onClick={() => {
        action.onSelect();
        onDone();
      }}
    >
      {action.label}
    </Toast.Action>
  );
}
