// Group of settings: a title, and fields in two columns. Rare fields are folded.
import { Card, CardHeader } from '@fairlead/ui/card';
import { ChevronRight } from 'lucide-react';
import type { ReactNode } from 'react';

export interface SectionProps {
  /** Anchor for links to the section. */
  readonly id?: string;
  readonly title: string;
  readonly detail?: string | undefined;
  readonly children: ReactNode;
}

export function Section({ id, title, detail, children }: SectionProps) {
  return (
    <Card id={id} className="scroll-mt-4">
      <CardHeader title={title} {...(detail === undefined ? {} : { detail })} />
      <div className="grid grid-cols-1 gap-x-4 gap-y-5 border-line border-t p-4 sm:grid-cols-2">{children}</div>
    </Card>
  );
}

export interface AdvancedProps {
  /** True unfolds the fields at first, because one of them has no default value. */
  readonly open: boolean;
  readonly children: ReactNode;
}

/** Folded fields at the end of a section. */
export function Advanced({ open, children }: AdvancedProps) {
  return (
    <details open={open} className="group -mx-4 -mb-4 border-line border-t sm:col-span-2">
      <summary className="flex h-11 cursor-pointer list-none items-center gap-2 rounded-card px-4 font-medium text-ink-soft hover:text-ink [&::-webkit-details-marker]:hidden">
        <ChevronRight
          size={15}
          aria-hidden="true"
          className="transition-transform duration-120 group-open:rotate-90 motion-reduce:transition-none"
        />
        Advanced
      </summary>
      <div className="grid grid-cols-1 gap-x-4 gap-y-5 px-4 pt-1 pb-4 sm:grid-cols-2">{children}</div>
    </details>
  );
}
