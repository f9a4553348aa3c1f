'use client';
import { domainLabel } from '@fairlead/core/domain/rules';
import { buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { PageHeader } from '@fairlead/ui/page-header';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { SearchInput } from '@fairlead/ui/search-input';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { Cell, HeadCell, Row, rowLink, Table, TableHead } from '@fairlead/ui/table';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { ExternalLink, Globe } from 'lucide-react';
import { useTRPC } from '../../api/trpc.tsx';
import type { Outputs } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
// Lists every host name of the organization with its target.
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { LoadMore } from '../../common/page/load-more.tsx';
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
        <SearchInput
          label="Search domains"
          value={search.typed}
          onValueChange={search.setTyped}
          className="mb-4 sm:max-w-80"
        />
        <Card>
          <QueryView query={domains} skeleton={<SkeletonRows rows={8} />}>
            {(data) => {
              const items = data.pages.flatMap((page) => page.items);
              if (items.length > 0) {
                return (
                  <>
                    <DomainRows domains={items} />
                    <LoadMore query={domains} />
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
                  A domain routes visitors to an app. Attach one on the app's Domains page, and point its DNS record at
                  the app's server. Fairlead then orders its certificate.
                </EmptyState>
              ) : (
                <EmptyState title={`No domain matches “${search.value}”`}>Search by host or by app.</EmptyState>
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
            <Cell className="whitespace-nowrap max-md:hidden">{domain.serverName ?? '–'}</Cell>
            <Cell numeric className="max-sm:hidden">
              <RelativeTime at={domain.createdAt} className="font-sans text-ink-soft" />
            </Cell>
            <Cell>
              <a
                href={domain.url}
                target="_blank"
                rel="noreferrer"
                aria-label={`Open ${domainLabel(domain)} in a new tab`}
                className="relative z-10 flex size-8 items-center justify-center rounded-control text-ink-faint hover:bg-hover hover:text-ink"
              >
                <ExternalLink size={15} aria-hidden="true" />
              </a>
            </Cell>
          </Row>
        ))}
      </tbody>
    </Table>
  );
}
