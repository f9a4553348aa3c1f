'use client';
// Frame of every page inside an organization: navigation rail or bottom bar, palette, shortcuts. Loads no data of its
// own.
import dynamic from 'next/dynamic';
import { usePathname, useRouter, useSearchParams } from 'next/navigation';
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useMe } from '../common/organization/me.tsx';
import { BottomBar } from './bottom-bar.tsx';
import { DeletionBanner } from './deletion-banner.tsx';
import { navItemsOf } from './navigation.ts';
import { Rail } from './rail.tsx';
import { idle, pressKey } from './shortcuts.ts';

const Palette = dynamic(() => import('./palette.tsx').then((module) => module.Palette), { ssr: false });
const ShortcutHelp = dynamic(() => import('./shortcut-help.tsx').then((module) => module.ShortcutHelp), { ssr: false });

export function Shell({ children }: { readonly children: ReactNode }) {
  const { paths } = useMe();
  const router = useRouter();
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
        if (item !== undefined) router.push(item.href);
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
  }, [items, router, show]);

  return (
    <div className="min-h-dvh md:grid md:grid-cols-[56px_minmax(0,1fr)] lg:grid-cols-[224px_minmax(0,1fr)]">
      <a
        href="#main"
        className="fixed top-2 left-2 z-50 -translate-y-16 rounded-control bg-accent px-3 py-2 font-medium text-accent-ink focus:translate-y-0"
      >
        Skip to content
      </a>
      <Rail items={items} pathname={pathname} onPalette={() => show('palette')} onHelp={() => show('help')} />
      <main id="main" tabIndex={-1} className="min-w-0 outline-none max-md:pb-16">
        <DeletionBanner />
        {children}
      </main>
      <BottomBar items={items} pathname={pathname} />
      {loaded.palette ? <Palette open={open === 'palette'} items={items} onClose={() => setOpen(null)} /> : null}
      {loaded.help ? <ShortcutHelp open={open === 'help'} items={items} onClose={() => setOpen(null)} /> : null}
    </div>
  );
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'));
}
