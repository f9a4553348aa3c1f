// Placeholder of a list whose filters hide everything: names them and clears them.
import { EmptyState } from '@fairlead/ui/empty-state';
import { ClearFilters } from './clear-filters.tsx';
import type { ActiveFilter } from './list-filter.ts';

export interface NoMatchesProps {
  /** Plural: deployments. */
  readonly noun: string;
  readonly active: readonly ActiveFilter[];
}

export function NoMatches({ noun, active }: NoMatchesProps) {
  return (
    <EmptyState title={`No ${noun} match these filters`} action={<ClearFilters active={active} />}>
      <span className="flex flex-wrap justify-center gap-x-3 gap-y-1">
        {active.map(({ name, label, text }) => (
          <span key={name}>
            {label}: <span className="font-medium text-ink">{text}</span>
          </span>
        ))}
      </span>
    </EmptyState>
  );
}
