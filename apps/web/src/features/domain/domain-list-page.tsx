'use client';
import { domainLabel, isWildcard } from '@fairlead/core/domain/rules';
import { buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { PageHeader } from '@fairlead/ui/page-header';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { StateText } from '@fairlead/ui/state-pill';
import { Cell, HeadCell, Row, rowLink, Table, TableHead } from '@fairlead/ui/table';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { ExternalLink, Globe } from 'lucide-react';
import { useTRPC } from '../../api/trpc.tsx';
import type { Outputs } from '../../api/types.ts';
import { hostLook } from '../../common/host/host-state.ts';
import { FilterBar } from '../../common/list/filter-bar.tsx';
import { activeFilters } from '../../common/list/list-filter.ts';
import { ListFooter } from '../../common/list/list-footer.tsx';
import { NoMatches } from '../../common/list/no-matches.tsx';
import { useMe } from '../../common/organization/me.tsx';
// Lists every host name of the organization with its target.
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useUrlSearch } from '../../common/page/use-url-state.ts';

export function DomainListPage() {
  const { paths } = useMe();
  const trpc = useTRPC();
  const search = useUrlSearch();
  const domains = useInfiniteQuery({
    ...trpc.domain.list.infiniteQueryOptions({ search: search.value }, { getNextPageParam: (page) => page.nextCursor }),
    placeholderData: keepPreviousData,
  });
  return (
    <OrganizationLive>
      <Page>
        <PageHeader title="Domains" />
        <FilterBar search={{ ...search, label: 'Search domains' }} filters={[]} />
        <Card>
          <QueryView query={domains} skeleton={<SkeletonRows rows={8} />}>
            {(data) => {
              const items = data.pages.flatMap((page) => page.items);
              if (items.length > 0) {
                return (
                  <>
                    <DomainRows domains={items} />
                    <ListFooter
                      query={domains}
                      shown={items.length}
                      total={data.pages[0]?.total ?? null}
                      noun={['domain', 'domains']}
                    />
                  </>
                );
              }
              return search.value === '' ? (
                <EmptyState
                  icon={<Globe size={20} />}
                  title="No domains yet"
                  action={
                    <HoverLink href={paths.apps} className={buttonClass('accent')}>
                      Choose app
                    </HoverLink>
                  }
                >
                  A domain routes visitors to an app. Attach one on the app's Domains page. Its page here then names the
                  DNS records to set, checks them, and shows the certificate.
                </EmptyState>
              ) : (
                <NoMatches noun="domains" active={activeFilters(search.value, [])} />
              );
            }}
          </QueryView>
        </Card>
      </Page>
    </OrganizationLive>
  );
}

function DomainRows({ domains }: { readonly domains: Outputs['domain']['list']['items'] }) {
  const { paths } = useMe();
  return (
    <Table>
      <TableHead>
        <HeadCell>Host</HeadCell>
        <HeadCell>App</HeadCell>
        <HeadCell>State</HeadCell>
        <HeadCell className="max-md:hidden">Server</HeadCell>
        <HeadCell numeric className="max-sm:hidden">
          Attached
        </HeadCell>
        <HeadCell>
          <span className="sr-only">Open</span>
        </HeadCell>
      </TableHead>
      <tbody>
        {domains.map((domain) => (
          <Row key={domain.id}>
            <Cell className="w-full max-w-0 truncate">
              <HoverLink
                href={paths.domain(domain.id)}
                {...rowLink}
                className={`${rowLink.className} font-mono text-sm font-normal`}
              >
                {domainLabel(domain)}
              </HoverLink>
            </Cell>
            <Cell className="whitespace-nowrap">
              {domain.appName}
              <span className="ml-2 text-sm text-ink-faint max-sm:hidden">{domain.environmentName}</span>
            </Cell>
            <Cell>
              <HostText domain={domain} />
            </Cell>
            <Cell className="whitespace-nowrap max-md:hidden">{domain.serverName ?? '–'}</Cell>
            <Cell numeric className="max-sm:hidden">
              <RelativeTime at={domain.createdAt} className="font-sans text-ink-soft" />
            </Cell>
            <Cell>
              {isWildcard(domain) ? null : (
                <a
                  href={domain.url}
                  target="_blank"
                  rel="noreferrer"
                  aria-label={`Open ${domainLabel(domain)} in a new tab`}
                  className="relative z-10 flex size-8 items-center justify-center rounded-control text-ink-faint hover:bg-hover hover:text-ink"
                >
                  <ExternalLink size={15} aria-hidden="true" />
                </a>
              )}
            </Cell>
          </Row>
        ))}
      </tbody>
    </Table>
  );
}

function HostText({ domain }: { readonly domain: Outputs['domain']['list']['items'][number] }) {
  if (domain.hostState === null) return <StateText tone="idle">Local</StateText>;
  const [tone, label] = hostLook(domain.hostState, domain.hostConflict);
  return <StateText tone={tone}>{label}</StateText>;
}
