// Sparkline: a word-sized chart without axes. Plain SVG, so the server can render it.
import { sparklinePaths } from './charts/prepare/sparkline.ts';

export interface SparklineProps {
  readonly values: readonly number[];
  /** Text alternative for screen readers. */
  readonly label: string;
  readonly width?: number;
  readonly height?: number;
}

export function Sparkline({ values, label, width = 120, height = 28 }: SparklineProps) {
  const paths = sparklinePaths(values, width, height);
  return (
    <svg
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      role="img"
      aria-label={label}
      className="block overflow-visible text-series-blue"
    >
      {paths === null ? (
        <path d={`M0 ${height - 1}H${width}`} stroke="var(--line-strong)" strokeDasharray="2 3" />
      ) : (
        <>
          <path d={paths.area} fill="currentColor" fillOpacity="0.12" />
          <path d={paths.line} fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinejoin="round" />
        </>
      )}
    </svg>
  );
}
