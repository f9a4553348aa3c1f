'use client';
// Lists what git hosts sent to webhooks, newest first, with the decision for each app.
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { Select } from '@fairlead/ui/input';
import { PageHeader } from '@fairlead/ui/page-header';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { Cell, HeadCell, Row, rowLink, Table, TableHead } from '@fairlead/ui/table';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import { CommitLine } from '../../common/deployment/commit-line.tsx';
import { lookOfPreviewDecision } from '../../common/deployment/preview-looks.ts';
import { LookText } from '../../common/deployment/state-view.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { LoadMore } from '../../common/page/load-more.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useUrlFilter } from '../../common/page/use-url-state.ts';
import { type Delivery, isOutcome, lookOfDecision, lookOfDelivery, outcomes, shortRef } from './decision-looks.ts';

export function DeliveryListPage() {
  const { paths } = useMe();
  const trpc = useTRPC();
  const filter = useUrlFilter('outcome');
  const outcome = isOutcome(filter.value) ? filter.value : null;
  const deliveries = useInfiniteQuery({
    ...trpc.push.list.infiniteQueryOptions(outcome === null ? {} : { outcome }, {
      getNextPageParam: (page) => page.nextCursor,
    }),
    placeholderData: keepPreviousData,
  });
  return (
    <OrganizationLive>
      <Page>
        <PageHeader
          breadcrumb={<Crumbs items={[{ title: 'Deployments', href: paths.deployments }]} />}
          title="Webhook deliveries"
          detail="Pushes, pull requests and other events that git hosts reported, and what was decided about each. Kept for 30 days."
        />
        <Select
          aria-label="Decision"
          value={outcome ?? ''}
          onChange={(event) => filter.set(event.target.value)}
          className="mb-4 max-w-48"
        >
          <option value="">All decisions</option>
          {outcomes.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </Select>
        <Card>
          <QueryView query={deliveries} skeleton={<SkeletonRows rows={8} />}>
            {(data) => {
              const items = data.pages.flatMap((page) => page.items);
              if (items.length > 0) {
                return (
                  <>
                    <DeliveryRows deliveries={items} />
                    <LoadMore query={deliveries} />
                  </>
                );
              }
              return outcome === null ? (
                <EmptyState title="No deliveries yet">
                  Connect a repository, or create a webhook in an app's settings. Each push appears here.
                </EmptyState>
              ) : (
                <EmptyState title="No delivery has this decision">Choose another decision above.</EmptyState>
              );
            }}
          </QueryView>
        </Card>
      </Page>
    </OrganizationLive>
  );
}

function DeliveryRows({ deliveries }: { readonly deliveries: readonly Delivery[] }) {
  const { paths } = useMe();
  return (
    <Table>
      <TableHead>
        <HeadCell>Repository</HeadCell>
        <HeadCell className="max-sm:hidden">Commit</HeadCell>
        <HeadCell className="max-sm:pr-4">Decision</HeadCell>
        <HeadCell numeric className="max-sm:hidden">
          Received
        </HeadCell>
      </TableHead>
      <tbody>
        {deliveries.map((delivery) => (
          <Row key={delivery.id}>
            <Cell className="max-sm:w-full max-sm:max-w-0 sm:whitespace-nowrap">
              <HoverLink href={paths.delivery(delivery.id)} {...rowLink}>
                {delivery.repository || (delivery.source === 'github' ? 'GitHub' : 'Webhook')}
                {delivery.event === 'push' ? (
                  <span className="ml-1.5 font-mono font-normal text-ink-faint text-sm">{shortRef(delivery.ref)}</span>
                ) : null}
              </HoverLink>
              <span className="block truncate text-sm text-ink-faint sm:hidden">
                <RelativeTime at={delivery.receivedAt} /> · {delivery.commitSubject || delivery.event}
              </span>
            </Cell>
            <Cell className="w-full max-w-0 max-sm:hidden">
              <CommitLine
                hash={delivery.commitHash}
                subject={delivery.commitSubject}
                author={delivery.sender}
                fallback={delivery.event}
              />
            </Cell>
            <Cell className="whitespace-nowrap max-sm:pr-4">
              <Decisions delivery={delivery} />
            </Cell>
            <Cell numeric className="max-sm:hidden">
              <RelativeTime at={delivery.receivedAt} className="font-sans text-ink-soft" />
            </Cell>
          </Row>
        ))}
      </tbody>
    </Table>
  );
}

/** One line for each app and environment; the state of the delivery if it concerns none. */
function Decisions({ delivery }: { readonly delivery: Delivery }) {
  const [first, ...others] = delivery.decisions;
  const [preview] = delivery.previews;
  if (first === undefined && preview !== undefined) return <LookText look={lookOfPreviewDecision(preview)} />;
  if (first === undefined) return <LookText look={lookOfDelivery(delivery)} />;
  return (
    <span className="flex items-baseline gap-2">
      <LookText look={lookOfDecision(first)} />
      <span className="text-ink-faint text-sm max-md:hidden">
        {first.appName}
        {others.length === 0 ? '' : ` and ${others.length} more`}
      </span>
    </span>
  );
}
