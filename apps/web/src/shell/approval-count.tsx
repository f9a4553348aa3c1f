'use client';
// Number of deployments that wait for the approval of the reader. Shows nothing without one.
import { useFormats } from '@fairlead/ui/formats';
import { cn } from '@fairlead/ui/lib/class-names';
import { useQuery } from '@tanstack/react-query';
import { useTRPC } from '../api/trpc.tsx';
import { useMe } from '../common/organization/me.tsx';

/** Refetch interval in milliseconds: pages without a live stream show the count too. */
const REREAD_EVERY_MS = 60_000;

export interface ApprovalCountProps {
  /** Position beside or above its icon. */
  readonly className: string;
}

export function ApprovalCount({ className }: ApprovalCountProps) {
  const { formatInteger } = useFormats();
  const { canAnywhere } = useMe();
  const waiting = useQuery({
    ...useTRPC().deployment.list.queryOptions({ attention: { kind: 'approval' }, limit: 1 }),
    enabled: canAnywhere('deployment.approve'),
    refetchInterval: REREAD_EVERY_MS,
  }).data;
  const count = waiting?.total ?? 0;
  if (count === 0) return null;
  return (
    <span
      className={cn(
        'tabular inline-flex h-4.5 min-w-4.5 items-center justify-center rounded-full bg-warn-wash px-1 font-medium text-warn-text text-xs',
        className,
      )}
    >
      {formatInteger(count)}
      <span className="sr-only"> {count === 1 ? 'waits' : 'wait'} for your approval</span>
    </span>
  );
}
