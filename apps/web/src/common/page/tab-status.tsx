'use client';
// State of the page's object in the browser tab: a mark before the title, and a dot on the icon.
import type { Tone } from '@fairlead/ui/state-pill';
import { useEffect } from 'react';
import { markedIcon, markedTitle, type TabMark } from './tab-mark.ts';

export interface TabStatusProps {
  /** Null for an object at rest: the tab looks as on other pages. */
  readonly look: { readonly tone: Tone; readonly label: string } | null;
  /** Title of the page without the state. */
  readonly title: string;
}

const MARKS: Partial<Record<Tone, TabMark>> = { busy: 'busy', warn: 'waiting', bad: 'failed', idle: 'waiting' };

export function TabStatus({ look, title }: TabStatusProps) {
  const mark = look === null ? null : (MARKS[look.tone] ?? null);
  const label = look?.label ?? '';
  useEffect(() => {
    if (mark === null) return;
    const wanted = markedTitle(mark, label, title);
    const plain = document.title;
    const write = () => {
      if (document.title !== wanted) document.title = wanted;
    };
    write();
    // Next writes the page's own title when its metadata arrives, which may be later.
    const observer = new MutationObserver(write);
    observer.observe(document.head, { childList: true, characterData: true, subtree: true });
    return () => {
      observer.disconnect();
      if (document.title === wanted) document.title = plain;
    };
  }, [mark, label, title]);
  useEffect(() => {
    const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
    if (mark === null || icon === null) return;
    const plain = icon.href;
    icon.href = markedIcon(mark);
    return () => {
      icon.href = plain;
    };
  }, [mark]);
  return null;
}
