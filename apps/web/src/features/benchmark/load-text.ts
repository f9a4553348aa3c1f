// Requests and stages of a plan as short text. Pure.
import type { BenchmarkLoad } from '@fairlead/core/benchmark/schema';

/** Requests with their weights, such as `3 × GET /, 1 × POST /orders`. */
export function requestsText({ requests }: BenchmarkLoad): string {
  return (
    requests.map(({ method, path, weight }) => `${weight} × ${method} ${path}`).join(', ') || 'one GET of the path'
  );
}

/** Rates with their times, such as `200/s after 10 s, 50/s after 5 s`. */
export function stagesText({ stages }: BenchmarkLoad): string {
  const texts = stages.map(
    ({ durationMs, requestsPerSecond }) => `${requestsPerSecond}/s after ${durationMs / 1000} s`,
  );
  return texts.join(', ') || 'none';
}
