// QR code, rendered locally: its content is sent to no service. Always dark on light, because cameras expect that.
import { encode } from 'uqr';
import { cn } from './lib/class-names.ts';

export interface QrCodeProps {
  readonly value: string;
  /** Text alternative for screen readers. */
  readonly label: string;
  readonly className?: string;
}

const QUIET_ZONE = 3;

export function QrCode({ value, label, className }: QrCodeProps) {
  const { data, size } = encode(value, { ecc: 'M', border: QUIET_ZONE });
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
      className={cn('size-48 rounded-control border border-line', className)}
    >
      <rect width={size} height={size} fill="white" />
      <path d={pathOf(data)} fill="black" />
    </svg>
  );
}

/** Returns an SVG path with one rectangle for each run of dark modules. */
function pathOf(rows: readonly (readonly boolean[])[]): string {
  return rows
    .flatMap((row, y) =>
      row.flatMap((dark, x) => {
        if (!dark || row[x - 1] === true) return [];
        const end = row.indexOf(false, x);
        const width = (end === -1 ? row.length : end) - x;
        return [`M${x} ${y}h${width}v1h-${width}z`];
      }),
    )
    .join('');
}
