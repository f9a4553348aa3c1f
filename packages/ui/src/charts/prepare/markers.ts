// Positions of deployment markers on a time axis, and which of them have room for a label. Pure.
import { fractionOf } from './time-series.ts';

export interface Marker {
  readonly id: string;
  readonly at: number;
  /** Short commit hash beside the marker. */
  readonly label: string;
  readonly title: string;
  readonly href: string;
  readonly tone: 'ok' | 'bad' | 'idle';
}

export interface PlacedMarker extends Marker {
  /** Position from 0 at the left edge to 1 at the right one. */
  readonly fraction: number;
  readonly labelled: boolean;
  /** True if the label is left of its line, as at the right edge. */
  readonly flip: boolean;
}

const FLIP_AT = 0.9;

/**
 * Returns markers, oldest first. The newest ones get their labels first: `labelShare` is the part of the width that one
 * label takes.
 */
export function placeMarkers(markers: readonly Marker[], from: number, to: number, labelShare: number): PlacedMarker[] {
  const inside = markers
    .flatMap((marker) => {
      const fraction = fractionOf(marker.at, from, to);
      return fraction === null ? [] : [{ marker, fraction }];
    })
    .sort((left, right) => right.fraction - left.fraction);

  let freeUntil = Number.POSITIVE_INFINITY;
  const placed = inside.map(({ marker, fraction }): PlacedMarker => {
    const flip = fraction > FLIP_AT;
    const [start, end] = flip ? [fraction - labelShare, fraction] : [fraction, fraction + labelShare];
    const labelled = end <= freeUntil;
    if (labelled) freeUntil = start;
    return { ...marker, fraction, labelled, flip };
  });
  return placed.reverse();
}
