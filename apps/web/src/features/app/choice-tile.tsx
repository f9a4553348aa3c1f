// Radio button of a new app's form as a tile: a title with a description below it.
import { cn } from '@fairlead/ui/lib/class-names';
import { type ReactNode, useId } from 'react';

export interface ChoiceTileProps {
  readonly name: string;
  readonly title: string;
  readonly icon?: ReactNode;
  readonly checked: boolean;
  readonly disabled: boolean;
  readonly onCheck: () => void;
  /** Description below the title. */
  readonly children: ReactNode;
}

export function ChoiceTile({ name, title, icon, checked, disabled, onCheck, children }: ChoiceTileProps) {
  const detailId = useId();
  return (
    <label
      className={cn(
        'relative flex flex-col gap-1 rounded-card border p-3 transition-colors duration-120',
        'has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent',
        checked ? 'border-accent bg-sunken' : 'border-line',
        disabled ? 'cursor-not-allowed' : 'cursor-pointer hover:bg-hover',
      )}
    >
      <input
        type="radio"
        name={name}
        aria-label={title}
        aria-describedby={detailId}
        checked={checked}
        disabled={disabled}
        onChange={onCheck}
        className="absolute inset-0 cursor-[inherit] appearance-none rounded-card outline-none"
      />
      <span className={cn('flex items-center gap-2 font-medium', disabled && 'text-ink-faint')}>
        {icon}
        {title}
      </span>
      <span id={detailId} className="text-pretty text-ink-faint text-sm">
        {children}
      </span>
    </label>
  );
}
