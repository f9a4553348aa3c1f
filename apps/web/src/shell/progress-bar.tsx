'use client';
// Bar at the top of the window while a page loads. It shows after 150 ms, so that a fast page shows none.
import { useIsNavigating } from '../common/page/navigation-progress.ts';

export function ProgressBar() {
  if (!useIsNavigating()) return null;
  return (
    <div
      role="progressbar"
      aria-label="Loading page"
      className="pointer-events-none fixed inset-x-0 top-0 z-50 h-0.5 origin-left animate-progress bg-series-blue"
    />
  );
}
