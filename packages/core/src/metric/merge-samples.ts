// Merges rows of one resolution into one of the next: sums add up, averages weigh by seconds, peaks stay peaks, and
// histograms merge, so that a p99 of an hour is a real p99. Pure.
import { decodeHistogram, encodeHistogram, mergeHistograms } from '@fairlead/contract/histogram';

export interface AppMetricRow {
  readonly organization_id: string;
  readonly app_id: string;
  readonly environment_id: string;
  readonly server_id: string;
  readonly seconds: number;
  readonly requests: bigint;
  readonly errors: bigint;
  readonly client_errors: bigint;
  readonly latency: Uint8Array;
  readonly bytes_received: bigint;
  readonly bytes_sent: bigint;
  readonly cpu_millis_avg: number;
  readonly memory_bytes_max: bigint;
  readonly in_flight_max: number;
}

export interface RouteMetricRow {
  readonly organization_id: string;
  readonly app_id: string;
  readonly environment_id: string;
  readonly server_id: string;
  readonly host: string;
  readonly path_prefix: string;
  readonly seconds: number;
  readonly requests: bigint;
  readonly errors: bigint;
  readonly client_errors: bigint;
  readonly latency: Uint8Array;
}

/** Groups rows by app, environment, server and route, and merges each group. */
export function mergeRouteRows(rows: readonly RouteMetricRow[]): RouteMetricRow[] {
  const key = (row: RouteMetricRow) =>
    `${row.app_id} ${row.environment_id} ${row.server_id} ${row.host} ${row.path_prefix}`;
  return [...Map.groupBy(rows, key).values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    return [
      {
        ...first,
        seconds: group.reduce((sum, row) => sum + row.seconds, 0),
        requests: sum(group, (row) => row.requests),
        errors: sum(group, (row) => row.errors),
        client_errors: sum(group, (row) => row.client_errors),
        latency: encodeHistogram(mergeHistograms(group.map((row) => decodeHistogram(row.latency)))),
      },
    ];
  });
}

/** Groups rows by app, environment and server, and merges each group. */
export function mergeAppRows(rows: readonly AppMetricRow[]): AppMetricRow[] {
  const groups = Map.groupBy(rows, (row) => `${row.app_id}/${row.environment_id}/${row.server_id}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const seconds = group.reduce((sum, row) => sum + row.seconds, 0);
    const cpu = group.reduce((sum, row) => sum + row.cpu_millis_avg * row.seconds, 0);
    return [
      {
        organization_id: first.organization_id,
        app_id: first.app_id,
        environment_id: first.environment_id,
        server_id: first.server_id,
        seconds,
        requests: sum(group, (row) => row.requests),
        errors: sum(group, (row) => row.errors),
        client_errors: sum(group, (row) => row.client_errors),
        latency: encodeHistogram(mergeHistograms(group.map((row) => decodeHistogram(row.latency)))),
        bytes_received: sum(group, (row) => row.bytes_received),
        bytes_sent: sum(group, (row) => row.bytes_sent),
        cpu_millis_avg: Math.round(cpu / seconds),
        memory_bytes_max: group.reduce((max, row) => (row.memory_bytes_max > max ? row.memory_bytes_max : max), 0n),
        in_flight_max: Math.max(...group.map((row) => row.in_flight_max)),
      },
    ];
  });
}

function sum<Row>(rows: readonly Row[], pick: (row: Row) => bigint): bigint {
  return rows.reduce((total, row) => total + pick(row), 0n);
}
