// Deployments as hairlines over a time axis. Pure: where each stands, and which of them have room for a label.
import { fractionOf } from './time-series.ts';

export interface Marker {
  readonly id: string;
  readonly at: number;
  /** The short hash beside the hairline. */
  readonly label: string;
  readonly title: string;
  readonly href: string;
  readonly tone: 'ok' | 'bad' | 'idle';
}

export interface PlacedMarker extends Marker {
  /** From 0 at the left edge to 1 at the right one. */
  readonly fraction: number;
  readonly labelled: boolean;
  /** At the right edge the label hangs to the left of its line. */
  readonly flip: boolean;
}

const FLIP_AT = 0.9;

/** Oldest first. The newest markers win the room for labels: `labelShare` is the part of the width one label takes. */
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
