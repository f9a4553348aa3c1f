'use client';
// Totals of the organization over the last 24 hours, each with its change against the 24 hours before.
import { useFormats } from '@fairlead/ui/formats';
import type { Overview } from '../../api/types.ts';
import { changeOfCount, changeOfShare, formatShare } from './total-text.ts';

export function Totals({ totals: { requests, errorShare, deployments } }: { readonly totals: Overview['totals'] }) {
  const formats = useFormats();
  const { formatCount, formatInteger } = formats;
  return (
    <section aria-label="Last 24 hours" className="rounded-card border border-line bg-surface">
      <h2 className="sr-only">Last 24 hours</h2>
      <dl className="grid grid-cols-3 divide-x divide-line">
        <Total
          label="Requests"
          value={requests.current === null ? '–' : formatCount(requests.current)}
          change={changeOfCount(requests, formats)}
        />
        <Total
          label="Error rate"
          value={formatShare(errorShare.current, formats)}
          change={changeOfShare(errorShare, formats)}
        />
        <Total
          label="Deployments"
          value={deployments.current === null ? '–' : formatInteger(deployments.current)}
          change={changeOfCount(deployments, formats)}
        />
      </dl>
    </section>
  );
}

interface TotalProps {
  readonly label: string;
  readonly value: string;
  /** Null without data to compare with. */
  readonly change: string | null;
}

function Total({ label, value, change }: TotalProps) {
  return (
    <div className="min-w-0 px-4 py-3">
      <dt className="truncate text-sm text-ink-faint">
        {label}
        <span className="max-sm:hidden">, 24 h</span>
      </dt>
      <dd className="tabular mt-0.5 font-semibold text-xl">{value}</dd>
      <dd className="text-sm text-ink-faint" title="Compared with the 24 hours before">
        {change ?? (value === '–' ? 'No data yet' : 'No data before')}
        {change === null ? null : <span className="max-sm:hidden"> vs. 24 h before</span>}
      </dd>
    </div>
  );
}
