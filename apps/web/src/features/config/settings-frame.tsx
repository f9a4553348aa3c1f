'use client';
import { cn } from '@fairlead/ui/lib/class-names';
// Frame of all sections of an app's settings: side navigation, search, and the focus on the field that a URL names.
import { usePathname } from 'next/navigation';
import { type ReactNode, useEffect, useRef } from 'react';
import type { AppDetail } from '../../api/types.ts';
import { useAppInEnvironment } from '../../common/app/app-placement.ts';
import { fieldAnchor, settingFields, settingsSections } from '../../common/app/setting-fields.ts';
import { findControl, focusControl } from '../../common/form/focus-field.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { SettingsSearch } from './settings-search.tsx';

export interface SettingsFrameProps {
  readonly slug: string;
  readonly initial: AppDetail;
  readonly children: ReactNode;
}

export function SettingsFrame({ slug, initial, children }: SettingsFrameProps) {
  const { linkEnvironmentId } = useAppInEnvironment(slug, initial);
  const pathname = usePathname();
  const content = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const root = content.current;
    // Names the page as well: its section may render after the frame.
    const anchor = pathname === location.pathname ? location.hash.slice(1) : '';
    return root === null || anchor === '' ? undefined : focusOnceShown(root, anchor);
  }, [pathname]);
  return (
    <div className="grid grid-cols-1 items-start gap-x-10 gap-y-5 lg:grid-cols-[13rem_minmax(0,1fr)]">
      <div className="flex min-w-0 flex-col gap-4 lg:sticky lg:top-6">
        <SettingsSearch
          slug={slug}
          linkEnvironmentId={linkEnvironmentId}
          onFieldHere={(label) => {
            if (content.current !== null) focusField(content.current, fieldAnchor(label));
          }}
        />
        <SectionNav slug={slug} linkEnvironmentId={linkEnvironmentId} />
      </div>
      <div ref={content} className="flex min-w-0 flex-col gap-6">
        {children}
      </div>
    </div>
  );
}

interface SectionNavProps {
  readonly slug: string;
  readonly linkEnvironmentId: AppDetail['environmentId'] | undefined;
}

function SectionNav({ slug, linkEnvironmentId }: SectionNavProps) {
  const { paths } = useMe();
  const pathname = usePathname();
  const current = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    // A phone shows a part of the list: the current section must be in it.
    if (pathname !== '') current.current?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [pathname]);
  return (
    <nav
      aria-label="Settings"
      className="flex min-w-0 gap-1 max-lg:overflow-x-auto max-lg:[scrollbar-width:none] lg:flex-col"
    >
      {settingsSections.map(({ id, title }) => {
        const toSection = paths.appSettingsIn(id);
        const isCurrent = pathname === toSection(slug);
        return (
          <HoverLink
            key={id}
            ref={isCurrent ? current : undefined}
            href={toSection(slug, linkEnvironmentId)}
            aria-current={isCurrent ? 'page' : undefined}
            className={cn(
              'flex h-8 shrink-0 items-center rounded-control px-3 transition-colors duration-120',
              isCurrent ? 'bg-pressed font-medium text-ink' : 'text-ink-soft hover:bg-hover hover:text-ink',
            )}
          >
            {title}
          </HoverLink>
        );
      })}
    </nav>
  );
}

/** Focuses a field, or the one that shows it while it is hidden. Returns whether the page has either. */
function focusField(root: HTMLElement, anchor: string): boolean {
  const within = settingFields.find(({ label }) => fieldAnchor(label) === anchor)?.within ?? '';
  const control =
    findControl(root, (text) => fieldAnchor(text) === anchor) ??
    // A heading may go on with a name, such as that of the project.
    findControl(root, (text) => fieldAnchor(text).startsWith(`${anchor}-`)) ??
    findControl(root, (text) => within !== '' && text === within);
  if (control !== null) focusControl(control);
  return control !== null;
}

function focusOnceShown(root: HTMLElement, anchor: string): (() => void) | undefined {
  if (focusField(root, anchor)) return undefined;
  const observer = new MutationObserver(() => {
    if (focusField(root, anchor)) observer.disconnect();
  });
  observer.observe(root, { childList: true, subtree: true });
  return () => observer.disconnect();
}
