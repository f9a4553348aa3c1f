// Histogram above a log: number of lines over time, errors and warnings in their colours.
import { useClockFormats } from './clock-formats.tsx';
import { useFormats } from './formats.tsx';
import { logBuckets } from './lib/log-histogram.ts';
import type { LogViewLine } from './lib/log-lines.ts';

const BUCKETS = 80;
const HEIGHT_PX = 28;

export function LogHistogram({ lines }: { readonly lines: readonly LogViewLine[] }) {
  const { plural } = useFormats();
  const { formatLogTime } = useClockFormats();
  const buckets = logBuckets(lines, BUCKETS);
  const most = Math.max(...buckets.map(({ errors, warnings, others }) => errors + warnings + others));
  const [first, last] = [buckets[0]?.startMs, lines.findLast(({ unixMs }) => unixMs !== null)?.unixMs ?? null];
  const errorCount = lines.filter(({ level }) => level === 'error').length;
  // Keeps its height while it is empty, so that the first lines move nothing.
  return (
    <div className="border-line border-b px-4 pt-2 pb-1">
      <svg
        role="img"
        aria-label={`${plural(lines.length, 'line')} over time, ${plural(errorCount, 'error')}`}
        viewBox={`0 0 ${BUCKETS} ${HEIGHT_PX}`}
        preserveAspectRatio="none"
        className="block h-7 w-full"
      >
        {buckets.map(({ startMs, errors, warnings, others }, at) => {
          let top = HEIGHT_PX;
          const bars = [
            { count: errors, fill: 'var(--bad)' },
            { count: warnings, fill: 'var(--warn)' },
            { count: others, fill: 'var(--series-grey)' },
          ].filter(({ count }) => count > 0);
          return bars.map(({ count, fill }) => {
            const height = Math.max(1.5, (count / most) * HEIGHT_PX);
            top -= height;
            return <rect key={`${startMs} ${fill}`} x={at + 0.1} width={0.8} y={top} height={height} fill={fill} />;
          });
        })}
      </svg>
      <p className="tabular flex min-h-4.5 justify-between text-ink-faint text-xs">
        <span>{first === undefined ? '' : formatLogTime(first)}</span>
        <span>{first === undefined || last === null ? '' : formatLogTime(last)}</span>
      </p>
    </div>
  );
}
