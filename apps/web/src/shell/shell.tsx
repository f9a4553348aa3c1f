'use client';
// Frame of every page inside an organization: navigation rail or bottom bar, palette, shortcuts. Loads no data of its
// own.
import dynamic from 'next/dynamic';
import { usePathname, useSearchParams } from 'next/navigation';
import { type ReactNode, useCallback, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react';
import { useGuardedPush } from '../common/form/unsaved-changes.tsx';
import { useMe } from '../common/organization/me.tsx';
import { BottomBar } from './bottom-bar.tsx';
import { isLost, useConnectionState } from './connection-state.ts';
import { DeletionBanner } from './deletion-banner.tsx';
import { navItemsOf } from './navigation.ts';
import { OfflineNote } from './offline-note.tsx';
import { ProgressBar } from './progress-bar.tsx';
import { Rail } from './rail.tsx';
import { idle, pressKey } from './shortcuts.ts';

const loadPalette = () => import('./palette.tsx').then((module) => module.Palette);
const loadHelp = () => import('./shortcut-help.tsx').then((module) => module.ShortcutHelp);
const Palette = dynamic(loadPalette, { ssr: false });
const ShortcutHelp = dynamic(loadHelp, { ssr: false });

/** The dialogs are loaded this long after the page, so that they also open offline. */
const PRELOAD_AFTER_MS = 3000;

export interface ShellProps {
  /** Version of the control plane. */
  readonly version: string;
  readonly children: ReactNode;
}

export function Shell({ version, children }: ShellProps) {
  const { paths } = useMe();
  const navigate = useGuardedPush();
  const connection = useConnectionState();
  const pathname = usePathname();
  const query = useSearchParams().toString();
  const items = useMemo(() => navItemsOf(paths, query), [paths, query]);
  const [open, setOpen] = useState<'palette' | 'help' | null>(null);
  // A dialog is loaded on first use and stays mounted from then on.
  const [loaded, setLoaded] = useState({ palette: false, help: false });
  const state = useRef(idle);

  const show = useCallback((what: 'palette' | 'help') => {
    setLoaded((before) => ({ ...before, [what]: true }));
    setOpen(what);
  }, []);

  useEffect(() => {
    const timer = setTimeout(() => {
      // A failure is repeated, and shown, when the dialog opens.
      void Promise.allSettled([loadPalette(), loadHelp()]);
    }, PRELOAD_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);

  const onShortcut = useEffectEvent((href: string) => navigate(href));
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const press = {
        key: event.key,
        command: event.metaKey || event.ctrlKey,
        alt: event.altKey,
        inField: isField(event.target),
      };
      const next = pressKey(state.current, press, event.timeStamp);
      state.current = next.state;
      const { action } = next;
      if (action.kind === 'none') return;
      if (action.kind === 'go') {
        const item = items.find((each) => each.key === action.key);
        if (item !== undefined) onShortcut(item.href);
        return;
      }
      if (action.kind === 'search') {
        const field = document.querySelector<HTMLInputElement>('main [data-page-search]');
        if (field === null) return;
        event.preventDefault();
        field.focus();
        field.select();
        return;
      }
      event.preventDefault();
      show(action.kind);
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, [items, show]);

  return (
    <div
      // "lost" dims figures below it: they may be out of date.
      data-connection={isLost(connection) ? 'lost' : connection}
      className="min-h-dvh md:grid md:grid-cols-[56px_minmax(0,1fr)] lg:grid-cols-[224px_minmax(0,1fr)]"
    >
      <ProgressBar />
      {connection === 'offline' ? <OfflineNote /> : null}
      <a
        href="#main"
        className="fixed top-2 left-2 z-50 -translate-y-16 rounded-control bg-accent px-3 py-2 font-medium text-accent-ink focus:translate-y-0"
      >
        Skip to content
      </a>
      <Rail
        items={items}
        pathname={pathname}
        connection={connection}
        version={version}
        onPalette={() => show('palette')}
        onHelp={() => show('help')}
      />
      <main id="main" tabIndex={-1} className="min-w-0 outline-none max-md:pb-16">
        <DeletionBanner />
        {children}
      </main>
      <BottomBar items={items} pathname={pathname} onPalette={() => show('palette')} />
      {loaded.palette ? (
        <Palette
          open={open === 'palette'}
          items={items}
          onClose={() => setOpen((shown) => (shown === 'palette' ? null : shown))}
          onHelp={() => show('help')}
        />
      ) : null}
      {loaded.help ? <ShortcutHelp open={open === 'help'} items={items} onClose={() => setOpen(null)} /> : null}
    </div>
  );
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'));
}
