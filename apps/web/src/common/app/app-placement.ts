'use client';
// Selects an app's environment from the URL, so that every page of it can be linked. Default: the environment where the
// app was created, or the oldest that the reader may see.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { useUrlFilter } from '../page/use-url-state.ts';

export type AppPlacement = AppDetail['placements'][number];

export interface AppInEnvironment {
  /** App with its settings in this environment. */
  readonly app: AppDetail;
  readonly placement: AppPlacement | null;
  /** Environment id for links to the app's other pages; undefined in its primary environment. */
  readonly linkEnvironmentId: AppDetail['environmentId'] | undefined;
}

export function useAppInEnvironment(slug: string, initial: AppDetail): AppInEnvironment {
  const trpc = useTRPC();
  const { value } = useUrlFilter('environment');
  const primary = useQuery(trpc.app.get.queryOptions({ slug })).data;
  const { placements, environmentId: first } = primary ?? initial;
  const requested = placements.find(({ environmentId }) => environmentId === value && value !== first)?.environmentId;
  const current = useQuery({
    ...trpc.app.get.queryOptions({ slug, ...(requested === undefined ? {} : { environmentId: requested }) }),
    placeholderData: keepPreviousData,
  }).data;
  const app = current ?? initial;
  return { app, placement: placementOf(app), linkEnvironmentId: app.isPrimary ? undefined : app.environmentId };
}

export function placementOf(app: AppDetail): AppPlacement | null {
  return app.placements.find(({ environmentId }) => environmentId === app.environmentId) ?? null;
}

/** Returns the hint for an app without a deployment. */
export function firstDeployHint({ repositoryUrl, image, branch }: AppDetail): string {
  if (image !== null) return `Press Deploy to pull ${image}.`;
  return repositoryUrl === ''
    ? 'Press Upload to send a folder from this computer.'
    : `Press Deploy to build the newest commit of ${branch || 'its default branch'}.`;
}
