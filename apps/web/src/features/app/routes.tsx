'use client';
// Request metrics of each route of an app. Hidden until a route has traffic.
import { Card, CardHeader } from '@fairlead/ui/card';
import { useFormats } from '@fairlead/ui/formats';
import { Cell, HeadCell, Row, Table, TableHead } from '@fairlead/ui/table';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, RouteMetric } from '../../api/types.ts';
import { type Period, refetchIntervalMs } from '../../common/chart/period.ts';

export interface RoutesProps {
  readonly app: AppDetail;
  readonly period: Period;
}

export function Routes({ app, period }: RoutesProps) {
  const { formatCount, formatMs } = useFormats();
  const trpc = useTRPC();
  const query = useQuery({
    ...trpc.metric.routes.queryOptions({ appId: app.id, environmentId: app.environmentId, ...period.input }),
    refetchInterval: refetchIntervalMs(period),
    placeholderData: keepPreviousData,
  });
  const routes = query.data?.routes ?? [];
  if (routes.length === 0) return null;
  return (
    <Card>
      <CardHeader title="Routes" detail="Busiest first, over the period of the charts" />
      <Table>
        <TableHead>
          <HeadCell>Route</HeadCell>
          <HeadCell numeric>Requests</HeadCell>
          <HeadCell numeric className="max-sm:hidden">
            4xx
          </HeadCell>
          <HeadCell numeric>Errors</HeadCell>
          <HeadCell numeric className="max-sm:hidden">
            p50
          </HeadCell>
          <HeadCell numeric>p99</HeadCell>
        </TableHead>
        <tbody>
          {routes.map((route) => (
            <Row key={`${route.host} ${route.pathPrefix}`}>
              <Cell className="w-full max-w-0 truncate font-mono text-sm" title={nameOf(route)}>
                {nameOf(route)}
              </Cell>
              <Cell numeric>{formatCount(route.requests)}</Cell>
              <Cell numeric className="max-sm:hidden">
                {formatCount(route.clientErrors)}
              </Cell>
              <Cell numeric className={route.errors > 0 ? 'text-bad-text' : ''}>
                {formatCount(route.errors)}
              </Cell>
              <Cell numeric className="max-sm:hidden">
                {formatMs(route.p50Ms)}
              </Cell>
              <Cell numeric>{formatMs(route.p99Ms)}</Cell>
            </Row>
          ))}
        </tbody>
      </Table>
    </Card>
  );
}

function nameOf({ host, pathPrefix }: RouteMetric): string {
  if (host === '') return 'All others';
  return pathPrefix === '/' ? host : host + pathPrefix;
}
