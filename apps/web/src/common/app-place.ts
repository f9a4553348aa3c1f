'use client';
// An app in one of its environments. Which one is kept in the address, so that every page of it can be linked; without one
// it is that where the app was made, or the oldest that its reader may see.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useTRPC } from '../api/trpc.tsx';
import type { AppDetail } from '../api/types.ts';
import { useUrlFilter } from './use-url-state.ts';

export type AppPlace = AppDetail['places'][number];

export interface PlacedApp {
  /** As it is in this environment. */
  readonly app: AppDetail;
  readonly place: AppPlace | null;
  /** For links to its other pages: absent where the app was made. */
  readonly asked: AppDetail['environmentId'] | undefined;
}

export function usePlacedApp(slug: string, initial: AppDetail): PlacedApp {
  const trpc = useTRPC();
  const { value } = useUrlFilter('environment');
  const home = useQuery(trpc.app.get.queryOptions({ slug })).data;
  const { places, environmentId: first } = home ?? initial;
  const wanted = places.find(({ environmentId }) => environmentId === value && value !== first)?.environmentId;
  const there = useQuery({
    ...trpc.app.get.queryOptions({ slug, ...(wanted === undefined ? {} : { environmentId: wanted }) }),
    placeholderData: keepPreviousData,
  }).data;
  const app = there ?? initial;
  return { app, place: placeOf(app), asked: app.isHome ? undefined : app.environmentId };
}

export function placeOf(app: AppDetail): AppPlace | null {
  return app.places.find(({ environmentId }) => environmentId === app.environmentId) ?? null;
}

/** What stands where nothing was deployed yet. */
export function howToBegin({ repositoryUrl, image, branch }: AppDetail): string {
  if (image !== null) return `Press Deploy to pull ${image}.`;
  return repositoryUrl === ''
    ? 'Press Upload to send a folder of this computer.'
    : `Press Deploy to build the newest commit of ${branch || 'its default branch'}.`;
}
