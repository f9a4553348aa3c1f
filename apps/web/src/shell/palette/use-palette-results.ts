'use client';
// Results of the API for a search in the palette: apps, servers, domains, and deployments by number or id.
import { keepPreviousData, skipToken, useQuery } from '@tanstack/react-query';
import { useDeferredValue } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppSummary } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { appPages, deploymentNumberOf, pageOfId } from './pages.ts';

export interface FoundPage {
  readonly id: string;
  readonly title: string;
  readonly keywords: readonly string[];
  readonly href: string;
  readonly hint: string;
}

export interface PaletteResults {
  readonly apps: readonly AppSummary[];
  /** Apps that the search names after its first word, as "deploy hello" does. */
  readonly appsOfVerb: readonly AppSummary[];
  readonly pages: readonly FoundPage[];
  /** True until the results of this search have loaded. */
  readonly pending: boolean;
}

const APPS_SHOWN = 8;
const OTHERS_SHOWN = 5;

export function usePaletteResults(query: string, enabled: boolean): PaletteResults {
  const { paths, canAnywhere } = useMe();
  const trpc = useTRPC();
  const typed = query.trim().slice(0, 100);
  const search = useDeferredValue(typed);
  // "hello logs" is an app and one of its pages.
  const [, head = ''] = /^(.+?)\s+\S+$/.exec(search) ?? [];
  const [, tail = ''] = /^\S+\s+(.+)$/.exec(search) ?? [];
  const numbered = deploymentNumberOf(search);
  const idPage = pageOfId(paths, search);
  const keep = { placeholderData: keepPreviousData };

  const apps = useQuery({
    ...trpc.app.list.queryOptions({ search, limit: APPS_SHOWN }),
    enabled: enabled && canAnywhere('app.read'),
    ...keep,
  });
  const appsOfHead = useQuery(
    trpc.app.list.queryOptions(enabled && head !== '' ? { search: head, limit: OTHERS_SHOWN } : skipToken),
  );
  const appsOfVerb = useQuery(
    trpc.app.list.queryOptions(enabled && tail !== '' ? { search: tail, limit: OTHERS_SHOWN } : skipToken),
  );
  const servers = useQuery({
    ...trpc.server.list.queryOptions(),
    enabled: enabled && search !== '' && canAnywhere('server.read'),
  });
  const domains = useQuery(
    trpc.domain.list.queryOptions(
      enabled && search !== '' && canAnywhere('domain.read') ? { search, limit: OTHERS_SHOWN } : skipToken,
    ),
  );
  const named = appsOfHead.data?.items.find(({ name }) => name.toLowerCase() === numbered?.app.toLowerCase());
  const deployments = useQuery(
    trpc.deployment.list.queryOptions(
      enabled && numbered !== null && canAnywhere('deployment.read')
        ? { number: numbered.number, limit: 20, ...(named === undefined ? {} : { appId: named.id }) }
        : skipToken,
    ),
  );

  const isLoading = [apps, appsOfHead, appsOfVerb, servers, domains, deployments].some(
    ({ fetchStatus, isPending, isPlaceholderData }) => fetchStatus === 'fetching' && (isPending || isPlaceholderData),
  );
  return {
    apps: apps.data?.items ?? [],
    appsOfVerb: appsOfVerb.data?.items ?? [],
    pages: [
      ...(idPage === null ? [] : [{ id: `id-${search}`, hint: 'ID', ...idPage }]),
      ...(deployments.data?.items ?? []).map(({ id, appName, number, environmentName, commitSubject }) => ({
        id: `deployment-${id}`,
        title: `${appName} #${number}${commitSubject === null ? '' : ` · ${commitSubject}`}`,
        keywords: [`#${number}`, String(number), `${appName} ${number}`],
        href: paths.deployment(id),
        hint: environmentName,
      })),
      ...(appsOfHead.data?.items ?? []).flatMap((app) =>
        appPages(paths, app).map(({ id, title, keywords, href }) => ({
          id: `app-${app.id}-${id}`,
          title: `${app.name} › ${title}`,
          // Only with the app's name before it: alone, the word would list the pages of every app.
          keywords: keywords.map((keyword) => `${app.name} ${keyword}`),
          href,
          hint: app.environmentName,
        })),
      ),
      ...(servers.data?.items ?? []).map(({ id, name }) => ({
        id: `server-${id}`,
        title: name,
        keywords: [id],
        href: paths.server(id),
        hint: 'Server',
      })),
      ...(domains.data?.items ?? []).map(({ id, host, appName }) => ({
        id: `domain-${id}`,
        title: host,
        keywords: [],
        href: paths.domain(id),
        hint: appName,
      })),
    ],
    pending: enabled && search !== '' && (typed !== search || isLoading),
  };
}
