// Prints limits beside measured figures.
export interface Measurement {
  readonly what: string;
  readonly measured: string;
  readonly bound: string;
  readonly kept: boolean;
}

/** Measurement that must not exceed its limit. */
export function atMost(what: string, value: number, bound: number, unit: string, digits = 0): Measurement {
  return { what, measured: `${value.toFixed(digits)} ${unit}`, bound: `≤ ${bound} ${unit}`, kept: value <= bound };
}

export function formatTable(rows: readonly Measurement[]): string {
  const width = (pick: (row: Measurement) => string) => Math.max(...rows.map((row) => pick(row).length));
  const [what, measured, bound] = [width((row) => row.what), width((row) => row.measured), width((row) => row.bound)];
  return rows
    .map(
      (row) =>
        `${row.kept ? '  ok ' : ' OVER'}  ${row.what.padEnd(what)}  ${row.measured.padStart(measured)}  ${row.bound.padEnd(bound)}`,
    )
    .join('\n');
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0;
}
