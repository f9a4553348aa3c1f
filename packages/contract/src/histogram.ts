// Mergeable latency histograms as the agent makes them: sparse log-linear buckets of microseconds, exact below 32 µs,
// within 1/32 above. Must stay bucket for bucket what agents/crates/telemetry does; fixtures/histogram.json proves it.
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { bucketsMax, emptyHistogram, type Histogram } from './buckets.ts';
import { HistogramSchema, type Histogram as WireHistogram } from './gen/fairlead/agent/v1/agent_pb.ts';

export * from './buckets.ts';

/** Reads a histogram that came over the wire; null when a peer sent one that cannot be. */
export function histogramFromWire(wire: WireHistogram | undefined): Histogram | null {
  if (wire === undefined) return emptyHistogram;
  if (wire.index.length !== wire.count.length) return null;
  const counts = new Map<number, number>();
  let last = -1;
  for (const [position, index] of wire.index.entries()) {
    const count = Number(wire.count[position]);
    if (index <= last || index >= bucketsMax || !Number.isSafeInteger(count)) return null;
    last = index;
    if (count > 0) counts.set(index, count);
  }
  const sumUs = Number(wire.sumUs);
  return Number.isSafeInteger(sumUs) ? { counts, sumUs } : null;
}

/** The wire form: indexes ascend, empty buckets are left out. */
export function histogramToWire(histogram: Histogram): WireHistogram {
  const buckets = [...histogram.counts].filter(([, count]) => count > 0).sort(([a], [b]) => a - b);
  return create(HistogramSchema, {
    index: buckets.map(([index]) => index),
    count: buckets.map(([, count]) => BigInt(count)),
    sumUs: BigInt(histogram.sumUs),
  });
}

/** The bytes that are stored in metric tables and benchmark rows. */
export function encodeHistogram(histogram: Histogram): Uint8Array<ArrayBuffer> {
  return new Uint8Array(toBinary(HistogramSchema, histogramToWire(histogram)));
}

/** Reads stored bytes; throws when they are not a histogram. */
export function decodeHistogram(bytes: Uint8Array): Histogram {
  const histogram = histogramFromWire(fromBinary(HistogramSchema, bytes));
  if (histogram === null) throw new RangeError('the stored bytes are not a histogram');
  return histogram;
}
