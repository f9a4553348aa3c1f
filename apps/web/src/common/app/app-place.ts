'use client';
// Selects an app's environment from the URL, so that every page of it can be linked. Default: the environment where the
// app was created, or the oldest that the reader may see.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { useUrlFilter } from '../page/use-url-state.ts';

export type AppPlace = AppDetail['places'][number];

export interface PlacedApp {
  /** App with its settings in this environment. */
  readonly app: AppDetail;
  readonly place: AppPlace | null;
  /** Environment id for links to the app's other pages; undefined in its primary environment. */
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

/** Returns the hint for an app without a deployment. */
export function firstDeployHint({ repositoryUrl, image, branch }: AppDetail): string {
  if (image !== null) return `Press Deploy to pull ${image}.`;
  return repositoryUrl === ''
    ? 'Press Upload to send a folder from this computer.'
    : `Press Deploy to build the newest commit of ${branch || 'its default branch'}.`;
}
