// Label of a saturated load generator, below the cores that it used.

interface SaturatedProps {
  /** Rows in which it was saturated. */
  readonly rows: number;
  readonly of: number;
}

/** Renders nothing if no row was saturated. */
export function Saturated({ rows, of }: SaturatedProps) {
  if (rows === 0) return null;
  return <span className="block text-warn-text text-xs">saturated{rows === of ? '' : ` ${rows}/${of}`}</span>;
}
