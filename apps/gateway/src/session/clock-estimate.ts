// Estimates the offset of an agent's clock from the times of pings and pongs. Pure.

/** Assumed drift of two clocks, which makes old samples less certain: 50 µs per second. */
const DRIFT_US_PER_MS = 0.05;
/** Number of latest samples to keep; the estimate uses one of them. */
const SAMPLES_MAX = 16;
/** Resolution of our times. */
const STEP_MS = 1;

export interface ClockSample {
  /** Times by our clock, in whole milliseconds. */
  readonly sentMs: number;
  readonly receivedMs: number;
  /** Time by the agent's clock, between the two. */
  readonly agentUs: number;
}

export interface ClockEstimate {
  /** Agent clock minus ours. */
  readonly offsetUs: number;
  /** Largest error of the offset, in both directions. */
  readonly uncertaintyUs: number;
}

/** Returns the samples with a new one, the oldest first. Drops samples that contradict it, because the agent's clock was set. */
export function withSample(samples: readonly ClockSample[], sample: ClockSample): readonly ClockSample[] {
  const now = estimateOf(sample, sample.receivedMs);
  const agrees = (other: ClockSample) => {
    const { offsetUs, uncertaintyUs } = estimateOf(other, sample.receivedMs);
    return Math.abs(offsetUs - now.offsetUs) <= uncertaintyUs + now.uncertaintyUs;
  };
  return [...samples.filter(agrees), sample].slice(-SAMPLES_MAX);
}

/**
 * Returns the estimate of the sample with the least uncertainty: half of its round trip plus the drift since. The agent read its
 * clock at an unknown moment of the round trip, so the middle is wrong by at most half of it. Null without samples.
 */
export function estimateClock(samples: readonly ClockSample[], nowMs: number): ClockEstimate | null {
  let best: ClockEstimate | null = null;
  for (const sample of samples) {
    const estimate = estimateOf(sample, nowMs);
    if (best === null || estimate.uncertaintyUs <= best.uncertaintyUs) best = estimate;
  }
  return best;
}

function estimateOf({ sentMs, receivedMs, agentUs }: ClockSample, nowMs: number): ClockEstimate {
  const halfUs = ((receivedMs - sentMs + STEP_MS) / 2) * 1000;
  return {
    offsetUs: Math.round(agentUs - ((sentMs + receivedMs + STEP_MS) / 2) * 1000),
    uncertaintyUs: Math.round(halfUs + Math.max(0, nowMs - receivedMs) * DRIFT_US_PER_MS),
  };
}
