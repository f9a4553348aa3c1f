// Compares the loss and the delay of the emulated link, as its rows report them, with the plan.
import type { BenchmarkDetail, BenchmarkPlan } from '@fairlead/core/benchmark';

export interface RecoveryBounds {
  /** Latency that the machine itself may add to a request at the median. A busy one has no bound. */
  readonly delayAddedMaxMs: number;
}

/** Standard deviations of a binomial distribution that a count may differ by: one of 15,000 differs more. */
const DEVIATIONS = 4;

/** Returns a sentence for each row whose link was not what the plan says. */
export function linkFaults(
  { link: set }: BenchmarkPlan,
  rows: BenchmarkDetail['rows'],
  bounds: RecoveryBounds,
): string[] {
  return rows.flatMap(({ position, phase, link }) => {
    if (link === null) return [`row ${position} has no link`];
    const isImpaired = phase === 'during';
    const share = isImpaired ? set.lossPercent / 100 : 0;
    const delayMs = isImpaired ? 2 * set.delayMs : 0;
    const faults: string[] = [];
    const expected = link.packets * share;
    if (Math.abs(link.lost - expected) > DEVIATIONS * Math.sqrt(expected * (1 - share))) {
      faults.push(`row ${position}: ${link.lost} of ${link.packets} packets were lost instead of ${100 * share} %`);
    }
    if (link.kernelSent !== link.packets || link.kernelReceived !== link.forwarded || link.packets === 0) {
      faults.push(`row ${position}: the kernel counted other packets: ${JSON.stringify(link)}`);
    }
    if (link.roundTripMs < delayMs || link.roundTripMs > delayMs + bounds.delayAddedMaxMs) {
      faults.push(`row ${position}: a round trip of ${delayMs} ms was measured as ${link.roundTripMs}`);
    }
    return faults;
  });
}
