// Skeletons of content that is loading, in its exact height, so that the layout does not shift.
import { cn } from './lib/class-names.ts';

export function Skeleton({ className }: { readonly className?: string }) {
  return <span aria-hidden="true" className={cn('block animate-shimmer rounded-control bg-sunken', className)} />;
}

/** Rows of a table: 48 pixels each, as in table.tsx. */
export function SkeletonRows({ rows }: { readonly rows: number }) {
  return (
    <div role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: ghosts have no identity
        <div key={index} className="flex h-12 items-center gap-4 border-line border-b px-4 last:border-b-0">
          <Skeleton className="h-3.5 w-40" />
          <Skeleton className="h-3.5 w-20" />
          <Skeleton className="ml-auto h-3.5 w-24" />
        </div>
      ))}
    </div>
  );
}
