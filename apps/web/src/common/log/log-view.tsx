'use client';
// Log view, loaded after the page: it needs lines that the page reads first.
import { Skeleton } from '@fairlead/ui/skeleton';
import dynamic from 'next/dynamic';

/** Fills its container. */
export const LogView = dynamic(() => import('@fairlead/ui/log-view').then((module) => module.LogView), {
  ssr: false,
  loading: () => <Skeleton className="h-full" />,
});
