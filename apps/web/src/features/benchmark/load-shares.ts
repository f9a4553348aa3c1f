// Share of each server in the load of a distributed run. Pure.
import { median } from '@fairlead/core/benchmark/statistics';
import type { BenchmarkDetail } from '../../api/types.ts';
import { generatorCores, type ResultRow } from './results.ts';

type RunServer = BenchmarkDetail['servers'][number];

export interface LoadShare {
  /** Rows with a part of the server. */
  readonly rows: number;
  readonly requests: number;
  readonly errors: number;
  /** Share of the requests of all load servers; null without any request. */
  readonly share: number | null;
  /** Median over the rows; null without a successful request. */
  readonly p99Ms: number | null;
  /** Median over the rows; null if the CPU time is not known. */
  readonly generatorCores: number | null;
  /** Rows in which its load generator limited the result. */
  readonly saturated: number;
}

export interface ServerShare extends RunServer {
  /** Largest difference from the common start of a row; null without a row. */
  readonly startOffsetUs: number | null;
  /** Null for the app's server, which sends no requests, and before the first row. */
  readonly load: LoadShare | null;
}

/** Returns the servers in the order of the run. */
export function loadSharesOf(servers: readonly RunServer[], rows: readonly ResultRow[]): ServerShare[] {
  const parts = rows.flatMap(({ durationMs, parts }) => parts.map((part) => ({ ...part, durationMs })));
  const total = parts.reduce((sum, { requests, errors }) => sum + requests + errors, 0);
  return servers.map((server) => {
    const own = parts.filter(({ serverId }) => serverId === server.serverId);
    const sum = (count: (part: (typeof own)[number]) => number) => own.reduce((all, part) => all + count(part), 0);
    const medianOf = (measure: (part: (typeof own)[number]) => number | null) =>
      median(own.map(measure).filter((value) => value !== null));
    const [requests, errors] = [sum((part) => part.requests), sum((part) => part.errors)];
    return {
      ...server,
      startOffsetUs: own.length === 0 ? null : Math.max(...own.map((part) => Math.abs(part.startOffsetUs))),
      load:
        server.role === 'measure' || own.length === 0
          ? null
          : {
              ...{ rows: own.length, requests, errors },
              share: total === 0 ? null : (requests + errors) / total,
              p99Ms: medianOf((part) => part.p99Ms),
              generatorCores: medianOf(generatorCores),
              saturated: sum((part) => Number(part.generatorSaturated)),
            },
    };
  });
}
