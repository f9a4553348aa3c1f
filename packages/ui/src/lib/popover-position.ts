// Positions a popover beside its anchor. Pure geometry in viewport pixels. Invariant: never leaves the viewport
// horizontally.
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

export interface PopoverPosition {
  readonly left: number;
  readonly top: number;
}

const EDGE_PX = 8;

/**
 * Returns the position below the anchor, or above it when there is no room below and more above; aligned to its start,
 * end or center.
 */
export function popoverPosition(
  anchor: Box,
  floating: { readonly width: number; readonly height: number },
  viewport: { readonly width: number; readonly height: number },
  align: 'start' | 'end' | 'center',
  gapPx = 4,
): PopoverPosition {
  const below = anchor.top + anchor.height + gapPx;
  const above = anchor.top - gapPx - floating.height;
  const fitsBelow = below + floating.height <= viewport.height - EDGE_PX;
  const top = fitsBelow || above < EDGE_PX ? below : above;
  const wanted =
    align === 'start'
      ? anchor.left
      : align === 'end'
        ? anchor.left + anchor.width - floating.width
        : anchor.left + (anchor.width - floating.width) / 2;
  const left = Math.max(EDGE_PX, Math.min(wanted, viewport.width - floating.width - EDGE_PX));
  return { left, top };
}
