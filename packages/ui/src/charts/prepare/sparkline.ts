// Outline of a sparkline; null with fewer than two values or only zeros. Pure.
export interface SparklinePaths {
  readonly line: string;
  readonly area: string;
}

export function sparklinePaths(values: readonly number[], width: number, height: number): SparklinePaths | null {
  const peak = Math.max(0, ...values);
  if (values.length < 2 || peak === 0) return null;
  // Leaves one pixel above and below, so that the stroke is not clipped.
  const stepX = width / (values.length - 1);
  const points = values.map((value, index) => {
    const y = height - 1 - (Math.max(0, value) / peak) * (height - 2);
    return `${round(index * stepX)} ${round(y)}`;
  });
  const line = `M${points.join('L')}`;
  return { line, area: `${line}L${width} ${height}L0 ${height}Z` };
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
