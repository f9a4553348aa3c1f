// Group of settings: a title, and fields in two columns.
import { Card, CardHeader } from '@fairlead/ui/card';
import type { ReactNode } from 'react';

export interface SectionProps {
  /** Anchor for links to the section. */
  readonly id?: string;
  readonly title: string;
  readonly detail?: string;
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
