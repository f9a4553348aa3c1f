// Sentences about the rows of a run: the caption of its results, and the warning of a busy machine. Pure.
import { distortionOf } from '@fairlead/core/benchmark/noise';
import type { Formats } from '@fairlead/ui/formats';
import { baselineOf, networkPathLabel, pathOf, type ResultLine, type ResultRow } from './results.ts';

/** Explains the figures and their ratio, if they have one, and names the network path if all rows have the same. */
export function resultText(rows: readonly ResultRow[], lines: readonly ResultLine[], { plural }: Formats): string {
  const path = pathOf(rows);
  const rounds = Math.max(...lines.map(({ repeats }) => repeats));
  const intervals = lines.some(({ interval }) => interval !== null) ? ', with 95 % intervals' : '';
  const base =
    baselineOf(rows) === 'nginx'
      ? 'of nginx'
      : 'of direct rows by the same network path, over HTTP/1.1 if the protocol has none';
  return [
    rounds > 1 ? `Medians over ${plural(rounds, 'round')}${intervals}.` : 'Figures of one round.',
    ...(lines.some(({ ratio }) => ratio !== null) ? [`Ratio: requests/s divided by those ${base}.`] : []),
    ...(path === null ? [] : [`Network path: ${networkPathLabel[path]}.`]),
  ].join(' ');
}

/** Warns if other processes or the hypervisor distorted a row, and names only those that did; null otherwise. */
export function noiseText(rows: readonly Pick<ResultRow, 'noise'>[], { formatPercent }: Formats): string | null {
  const distortions = rows.map(({ noise }) => distortionOf(noise));
  const noisy = distortions.filter(({ other, steal }) => other !== null || steal !== null);
  if (noisy.length === 0) return null;
  const other = Math.max(...noisy.map((row) => row.other ?? 0));
  const steal = Math.max(...noisy.map((row) => row.steal ?? 0));
  const causes = [
    ...(other > 0 ? [`other processes took up to ${formatPercent(other)} of its CPU`] : []),
    ...(steal > 0 ? [`the hypervisor took up to ${formatPercent(steal)} of its CPU`] : []),
  ];
  const where = shareOfRows(noisy.length, rows.length);
  return `The machine was busy in ${where}: ${causes.join(', and ')}. Run the benchmark again when the server is idle.`;
}

export function shareOfRows(count: number, total: number): string {
  if (total === 1) return 'the only row';
  return count === total ? `all ${total} rows` : `${count} of ${total} rows`;
}
