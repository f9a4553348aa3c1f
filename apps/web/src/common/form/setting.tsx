// Row of a settings card: description at the left, control at the right.
import type { ReactNode } from 'react';

export interface SettingProps {
  readonly title: string;
  readonly detail: ReactNode;
  readonly children: ReactNode;
}

export function Setting({ title, detail, children }: SettingProps) {
  return (
    <div className="flex flex-wrap items-center gap-x-6 gap-y-3 border-line border-t px-4 py-4">
      <div className="min-w-0 flex-1 basis-56">
        <p className="font-medium">{title}</p>
        <p className="text-pretty text-sm text-ink-faint">{detail}</p>
      </div>
      {children}
    </div>
  );
}
