// From the rows of `fairlead-agent bench --json` to a table of medians and ratios.

/** One cell of one round. */
export interface Row {
  readonly name: string;
  readonly protocol: string;
  readonly concurrency: number;
  readonly requests_per_second: number;
  readonly errors: number;
  readonly p50_us: number | null;
  readonly p99_us: number | null;
  readonly cpu_us_per_request: number;
  readonly memory_bytes: number;
}

export interface Cell {
  /** `h1_c32`: protocol and clients. */
  readonly cell: string;
  readonly proxy: string;
  readonly metric: string;
  readonly value: number;
  /** Against nginx in the same cell; null for nginx itself. */
  readonly ratio: number | null;
}

const metrics: Record<string, (row: Row) => number> = {
  cpu_us_per_request: (row) => row.cpu_us_per_request,
  requests_per_second: (row) => row.requests_per_second,
  p50_us: (row) => row.p50_us ?? Number.NaN,
  p99_us: (row) => row.p99_us ?? Number.NaN,
  memory_mib: (row) => row.memory_bytes / 2 ** 20,
  errors: (row) => row.errors,
};

/** The median over rounds of every metric of every cell, with its ratio to nginx's. */
export function comparisons(rows: readonly Row[]): Cell[] {
  const cellOf = (row: Row) => `${row.protocol === 'http1' ? 'h1' : 'h2'}_c${row.concurrency}`;
  const cells: Cell[] = [];
  for (const cell of new Set(rows.map(cellOf))) {
    const within = rows.filter((row) => cellOf(row) === cell);
    for (const proxy of new Set(within.map((row) => row.name))) {
      for (const [metric, pick] of Object.entries(metrics)) {
        const value = median(within.filter((row) => row.name === proxy).map(pick));
        const peer = median(within.filter((row) => row.name === 'nginx').map(pick));
        cells.push({ cell, proxy, metric, value, ratio: proxy === 'nginx' || peer === 0 ? null : value / peer });
      }
    }
  }
  return cells;
}

export function formatComparisons(cells: readonly Cell[]): string {
  const names = Object.keys(metrics);
  const lines = [['cell', 'proxy', 'CPU µs/req', 'req/s', 'p50 µs', 'p99 µs', 'PSS MiB', 'errors']];
  for (const cell of new Set(cells.map((each) => each.cell))) {
    for (const proxy of new Set(cells.filter((each) => each.cell === cell).map((each) => each.proxy))) {
      const figures = names.map((metric) => {
        const found = cells.find((each) => each.cell === cell && each.proxy === proxy && each.metric === metric);
        if (found === undefined) return '';
        const value = found.value.toFixed(metric === 'cpu_us_per_request' || metric === 'memory_mib' ? 1 : 0);
        return found.ratio === null ? value : `${value} (${found.ratio.toFixed(2)})`;
      });
      lines.push([cell, proxy, ...figures]);
    }
  }
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  return lines.map((line) => line.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  ')).join('\n');
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
