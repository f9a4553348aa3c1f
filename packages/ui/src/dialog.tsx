'use client';
// Modal on the browser's own <dialog>: traps focus, closes on Escape, and restores focus at the end.
import { type ReactNode, useEffect, useId, useRef } from 'react';
import { IconButton } from './button.tsx';
import { CrossIcon } from './cross-icon.tsx';
import { cn } from './lib/class-names.ts';
import { coverDialogs } from './lib/dialog-stack.ts';

const FOOTER =
  'sticky bottom-0 z-10 flex flex-wrap items-center justify-end gap-2 border-line border-t bg-raised px-5 py-3';

export interface DialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly detail?: ReactNode;
  readonly children: ReactNode;
  readonly footer?: ReactNode;
  readonly wide?: boolean;
  /** True if only its own buttons close it: no Escape, no click outside and no close button. */
  readonly held?: boolean;
}

export function Dialog({ open, onClose, title, detail, children, footer, wide = false, held = false }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();

  const uncover = useRef<() => void>(() => undefined);

  useEffect(() => {
    const element = dialog.current;
    if (element === null || !open) return;
    if (!element.open) element.showModal();
    uncover.current = coverDialogs(element);
    return () => {
      // Before it closes: the browser returns the focus into the dialog below, which must be visible then.
      uncover.current();
      if (element.open) element.close();
    };
  }, [open]);

  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      onClose={onClose}
      onCancel={(event) => {
        if (event.target !== dialog.current) return;
        if (held) event.preventDefault();
        else uncover.current();
      }}
      onPointerDown={(event) => {
        if (event.target === dialog.current && !held) onClose();
      }}
      onKeyDown={(event) => {
        // Shortcuts of the page must not fire through the modal.
        event.stopPropagation();
        // A browser lets a page cancel `cancel` only once: the second Escape would close the dialog.
        if (held && event.key === 'Escape') event.preventDefault();
      }}
      className={cn(
        'm-auto w-[calc(100vw-2rem)] rounded-card border border-line bg-raised p-0 text-ink shadow-float open:animate-arrive',
        'max-sm:mb-4 max-h-[calc(100dvh-2rem)] overflow-y-auto data-covered:invisible',
        // A focused control is not below the footer.
        'scroll-pb-20',
        wide ? 'max-w-2xl' : 'max-w-lg',
      )}
    >
      {open ? (
        <div className="relative">
          <header className="px-5 pt-4 pr-14">
            <h2 id={titleId} className="text-lg font-semibold">
              {title}
            </h2>
            {detail ? <p className="mt-1 text-pretty text-ink-soft">{detail}</p> : null}
          </header>
          <div className="px-5 py-4">{children}</div>
          {footer ? <footer className={FOOTER}>{footer}</footer> : null}
          {/* Last in DOM order: initial focus belongs to the dialog's content. */}
          {held ? null : (
            <IconButton label="Close" onClick={onClose} className="absolute top-3 right-3">
              <CrossIcon />
            </IconButton>
          )}
        </div>
      ) : null}
    </dialog>
  );
}

/** Footer of a dialog for a form inside its content, at the end of the form. */
export function DialogFooter({ children }: { readonly children: ReactNode }) {
  return <footer className={cn(FOOTER, '-mx-5 -mb-4')}>{children}</footer>;
}
