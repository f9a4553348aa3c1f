'use client';
// Names in the repository's .env.example that are not set: a warning that never blocks a deployment.
import { Button } from '@fairlead/ui/button';
import { StateMark } from '@fairlead/ui/state-pill';
import { Plus } from 'lucide-react';
import type { AppSecrets } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';

/** Maximum number of names with a button of their own. */
const OFFERED = 12;

export interface MissingNamesProps {
  readonly view: AppSecrets;
  readonly onAdd: (name: string) => void;
}

export function MissingNames({ view, onAdd }: MissingNamesProps) {
  const { can } = useMe();
  const { missingNames, expectedVariables } = view;
  if (missingNames.length === 0) return null;
  const rest = missingNames.length - OFFERED;
  return (
    <section aria-label="Missing variables" className="rounded-card bg-warn-wash px-4 py-3">
      <p className="flex items-center gap-2 font-medium">
        <StateMark tone="warn" />
        {missingNames.length} of {expectedVariables.length} expected {expectedVariables.length === 1 ? 'name' : 'names'}{' '}
        {missingNames.length === 1 ? 'is' : 'are'} not set
      </p>
      <p className="mt-0.5 text-pretty text-ink-soft text-sm">
        The repository's .env.example lists them, but no variable sets them.
      </p>
      <ul className="mt-3 flex flex-wrap gap-2">
        {missingNames.slice(0, OFFERED).map((name) => (
          <li key={name} className="max-w-full">
            {can('secret.write') || can('app.write') ? (
              <Button
                size="small"
                className="max-w-full font-mono"
                icon={<Plus size={14} aria-hidden="true" />}
                onClick={() => onAdd(name)}
              >
                <span className="truncate">{name}</span>
              </Button>
            ) : (
              <code className="wrap-anywhere font-mono text-sm">{name}</code>
            )}
          </li>
        ))}
        {rest > 0 ? <li className="self-center text-ink-soft text-sm">and {rest} more</li> : null}
      </ul>
    </section>
  );
}
