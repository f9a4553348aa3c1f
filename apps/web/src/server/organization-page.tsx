// Makes the pages of an organization. Each loads its data first and renders with a filled cache.
import 'server-only';
import type { ReactNode } from 'react';
import { Hydrated, type PageApi, pageApi } from './page-api.tsx';
import { readTimeZone } from './viewer.ts';

interface OrganizationParams {
  readonly organization: string;
}

type SearchParams = Readonly<Record<string, string | string[] | undefined>>;

export interface PageContext<Params> {
  readonly api: PageApi;
  readonly params: Params;
  /** Returns one value of the URL's query as the client reads it: the first of several, '' if there is none. */
  readonly search: (name: string) => string;
  /** Returns the viewer's time zone. */
  readonly timeZone: () => Promise<string>;
}

interface PageProps<Params> {
  readonly params: Promise<Params>;
  readonly searchParams: Promise<SearchParams>;
}

export function organizationPage<Params extends OrganizationParams = OrganizationParams>(
  render: (context: PageContext<Params>) => Promise<ReactNode>,
) {
  return async function Page({ params, searchParams }: PageProps<Params>) {
    const known = await params;
    const query = await searchParams;
    const api = await pageApi(known.organization);
    const search = (name: string) => readSearch(query, name);
    const timeZone = () => readTimeZone(api);
    const content = await render({ api, params: known, search, timeZone });
    return <Hydrated organization={known.organization}>{content}</Hydrated>;
  };
}

function readSearch(query: SearchParams, name: string): string {
  const value = query[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}
