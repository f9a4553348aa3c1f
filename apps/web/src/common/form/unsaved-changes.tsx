'use client';
// Guard of unsaved changes: asks before a link, a command, Back or the browser leaves a page with a changed form.
import { useRouter } from 'next/navigation';
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useRef, useState } from 'react';
import { useNavigate } from '../page/navigation-progress.ts';
import { ConfirmDialog } from './confirm-dialog.tsx';

type Leave = () => void;

interface UnsavedChanges {
  /** Registers a changed form until the returned function is called. */
  readonly register: () => () => void;
  /** Leaves at once without changes, else asks first. */
  readonly ask: (leave: Leave) => void;
}

const UnsavedChangesContext = createContext<UnsavedChanges>({
  register: () => () => undefined,
  ask: (leave) => leave(),
});

export function UnsavedChangesProvider({ children }: { readonly children: ReactNode }) {
  const router = useRouter();
  const forms = useRef(0);
  const [leave, setLeave] = useState<Leave | null>(null);
  const guard = useMemo<UnsavedChanges>(
    () => ({
      register: () => {
        forms.current += 1;
        return () => {
          forms.current -= 1;
        };
      },
      ask: (next) => {
        if (forms.current === 0) next();
        else setLeave(() => next);
      },
    }),
    [],
  );

  useEffect(() => {
    const isChanged = () => forms.current > 0;
    const onUnload = (event: BeforeUnloadEvent) => {
      if (isChanged()) event.preventDefault();
    };
    const onClick = (event: MouseEvent) => {
      const href = isChanged() ? hrefInApp(event) : null;
      if (href === null) return;
      event.preventDefault();
      event.stopPropagation();
      setLeave(() => () => router.push(href));
    };
    const stopHistory = guardHistory(isChanged, (next) => setLeave(() => next));
    window.addEventListener('beforeunload', onUnload);
    // Runs before the link's own handler, which would navigate.
    document.addEventListener('click', onClick, { capture: true });
    return () => {
      stopHistory();
      window.removeEventListener('beforeunload', onUnload);
      document.removeEventListener('click', onClick, { capture: true });
    };
  }, [router]);

  const confirm = () => {
    const next = leave;
    setLeave(null);
    next?.();
  };
  return (
    <UnsavedChangesContext value={guard}>
      {children}
      <ConfirmDialog
        open={leave !== null}
        title="Discard unsaved changes?"
        action="Discard changes"
        pending={false}
        onConfirm={confirm}
        onClose={() => setLeave(null)}
      >
        <p>Changes on this page aren't saved yet. They are lost when you leave it.</p>
      </ConfirmDialog>
    </UnsavedChangesContext>
  );
}

/** Marks a form as changed while `changed` is true. */
export function useUnsavedChanges(changed: boolean): void {
  const { register } = useContext(UnsavedChangesContext);
  useEffect(() => (changed ? register() : undefined), [changed, register]);
}

/** Returns a push for commands such as menu items, which asks before unsaved changes are lost. */
export function useGuardedPush(): (href: string) => void {
  const navigate = useNavigate();
  const { ask } = useContext(UnsavedChangesContext);
  return useCallback((href) => ask(() => navigate(href)), [ask, navigate]);
}

/** Returns the target of a press on a link that replaces this page; null for other presses. */
function hrefInApp(event: MouseEvent): string | null {
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[href]') : null;
  if (!isPlain || link === null || link.target === '_blank' || link.hasAttribute('download')) return null;
  if (link.origin !== location.origin) return null;
  // An anchor on the same page leaves nothing.
  if (link.pathname === location.pathname && link.search === location.search) return null;
  return link.pathname + link.search + link.hash;
}

/**
 * Takes Back and Forward back while a form is changed, and asks. The router's own listener must not see the event: it
 * would replace the page.
 */
function guardHistory(isChanged: () => boolean, ask: (leave: Leave) => void): () => void {
  let index = indexOfEntry();
  let state: 'idle' | 'returning' | 'leaving' = 'idle';
  const onPop = (event: PopStateEvent) => {
    if (state === 'returning') {
      state = 'idle';
      event.stopImmediatePropagation();
      return;
    }
    if (state === 'leaving' || !isChanged()) {
      state = 'idle';
      index = indexOfEntry();
      return;
    }
    event.stopImmediatePropagation();
    // Browsers without the Navigation API do not tell the direction; Back is the usual one.
    const there = indexOfEntry();
    const steps = index === null || there === null ? -1 : there - index;
    state = 'returning';
    history.go(-steps);
    ask(() => {
      state = 'leaving';
      history.go(steps);
    });
  };
  const onPress = () => {
    index = indexOfEntry();
  };
  window.addEventListener('popstate', onPop, { capture: true });
  // Links and commands change the entry without an event.
  window.addEventListener('pointerdown', onPress, { capture: true });
  window.addEventListener('keydown', onPress, { capture: true });
  return () => {
    window.removeEventListener('popstate', onPop, { capture: true });
    window.removeEventListener('pointerdown', onPress, { capture: true });
    window.removeEventListener('keydown', onPress, { capture: true });
  };
}

function indexOfEntry(): number | null {
  return 'navigation' in window ? (window.navigation.currentEntry?.index ?? null) : null;
}
