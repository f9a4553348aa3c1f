// Metric curves that look like real ones: days and weekends, drift, noise, the odd incident, latencies with a tail.
// Everything about a moment follows from the profile and the time, so resolutions agree with each other.
import { bucketLowerUs, bucketsMax, bucketUpperUs, encodeHistogram } from '@fairlead/contract/histogram';
import type { CopyRow } from '@fairlead/db/copy';
import type { Machine, SeedApp } from './fleet.ts';
import type { Random } from './random.ts';

const secondMs = 1000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export interface Span {
  readonly from: Date;
  readonly until: Date;
  readonly stepMs: number;
}

interface Wave {
  readonly periodMs: number;
  readonly phase: number;
  readonly amplitude: number;
}

interface Incident {
  readonly fromMs: number;
  readonly untilMs: number;
  /** Shift of the histogram in buckets; 16 double the latency. */
  readonly bucketShift: number;
  readonly errorShare: number;
}

interface LoadCurve {
  /** Around 1, never below 0.02. */
  at(ms: number): number;
}

function loadCurve(random: Random, dayAmplitude: number): LoadCurve {
  const peakHour = random.between(9, 19);
  const weekend = random.between(0.4, 0.9);
  const waves: Wave[] = [7 * hourMs, 2.3 * hourMs, 0.4 * hourMs].map((periodMs, index) => ({
    periodMs: periodMs * random.between(0.8, 1.2),
    phase: random.between(0, 2 * Math.PI),
    amplitude: 0.08 / (index + 1),
  }));
  return {
    at: (ms) => {
      const hour = (ms % dayMs) / hourMs;
      // 1970-01-01 was a Thursday.
      const weekday = (Math.floor(ms / dayMs) + 4) % 7;
      const daily = 1 + dayAmplitude * Math.cos((2 * Math.PI * (hour - peakHour)) / 24);
      const drift = waves.reduce(
        (sum, wave) => sum + wave.amplitude * Math.sin((2 * Math.PI * ms) / wave.periodMs + wave.phase),
        1,
      );
      return Math.max(0.02, daily * drift * (weekday === 0 || weekday === 6 ? weekend : 1));
    },
  };
}

// ---------------------------------------------------------------------------------------------- apps

interface LatencyShape {
  readonly firstBucket: number;
  /** Share of all requests in each bucket from the first on. */
  readonly shares: readonly number[];
}

/** A log-normal body with a tail of one request in fifty that is four times as slow. */
function latencyShape(medianUs: number, sigma: number): LatencyShape {
  const logMedian = Math.log(medianUs);
  const below = (us: number): number => {
    const z = (shift: number, width: number) => (Math.log(Math.max(us, 1)) - logMedian - shift) / width;
    return 0.98 * normalShareBelow(z(0, sigma)) + 0.02 * normalShareBelow(z(Math.log(4), sigma * 1.4));
  };
  const buckets = Array.from({ length: bucketsMax }, (_, index) => ({
    index,
    share: below(bucketUpperUs(index)) - below(bucketLowerUs(index)),
  })).filter(({ share }) => share > 2e-5);
  return { firstBucket: buckets[0]?.index ?? 0, shares: buckets.map(({ share }) => share) };
}

/** The standard normal distribution function (Abramowitz and Stegun 26.2.17, error below 1e-7). */
function normalShareBelow(z: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(z));
  const tail =
    (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) *
    t *
    (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return z > 0 ? 1 - tail : tail;
}

export class AppCurve {
  readonly #app: SeedApp;
  readonly #random: Random;
  readonly #load: LoadCurve;
  readonly #shape: LatencyShape;
  readonly #incidents: readonly Incident[];
  readonly #requestsPerSecond: number;
  readonly #errorShare: number;
  readonly #cpuUsPerRequest: number;
  readonly #memoryBytes: number;
  readonly #bytesSentPerRequest: number;

  constructor(random: Random, app: SeedApp, requestsPerSecond: number, until: Date) {
    this.#app = app;
    this.#random = random;
    this.#load = loadCurve(random, random.between(0.3, 0.75));
    this.#shape = latencyShape(random.between(1_500, 40_000), random.between(0.3, 0.5));
    this.#incidents = Array.from({ length: random.int(0, 3) }, () => {
      const fromMs = until.getTime() - random.between(0.05, 7) * dayMs;
      return {
        fromMs,
        untilMs: fromMs + random.between(6, 45) * 60_000,
        bucketShift: random.int(8, 30),
        errorShare: random.between(0.01, 0.2),
      };
    });
    this.#requestsPerSecond = requestsPerSecond;
    this.#errorShare = random.between(0, 0.0008);
    this.#cpuUsPerRequest = random.between(200, 2_500);
    this.#memoryBytes = random.between(70, 380) * 1024 * 1024;
    this.#bytesSentPerRequest = random.between(800, 24_000);
  }

  *rows({ from, until, stepMs }: Span): Generator<CopyRow> {
    const seconds = stepMs / secondMs;
    for (let ms = floorTo(from, stepMs); ms + stepMs <= until.getTime(); ms += stepMs) {
      const incident = this.#incidents.find(({ fromMs, untilMs }) => ms < untilMs && ms + stepMs > fromMs);
      // In a long step an incident is only a part of it.
      const part = incident === undefined ? 0 : Math.min(1, (incident.untilMs - incident.fromMs) / stepMs);
      const noise = 1 + this.#random.normal() * (0.04 + 0.2 / Math.sqrt(seconds));
      const wanted = this.#requestsPerSecond * this.#load.at(ms + stepMs / 2) * Math.max(0, noise) * seconds;
      const shift = Math.round((incident?.bucketShift ?? 0) * part);
      const { requests, latency } = this.#measure(wanted, shift);
      const errorShare = this.#errorShare + (incident?.errorShare ?? 0) * part;
      const cpuMillis = (requests / seconds) * (this.#cpuUsPerRequest / 1000) + 3;
      yield {
        organization_id: this.#app.organizationId,
        app_id: this.#app.appId,
        environment_id: this.#app.environmentId,
        server_id: this.#app.serverId,
        at: new Date(ms),
        seconds,
        requests,
        errors: this.#roundEither(requests * errorShare),
        client_errors: this.#roundEither(requests * 0.006),
        latency,
        bytes_received: Math.round(requests * 620),
        bytes_sent: Math.round(requests * this.#bytesSentPerRequest),
        cpu_millis_avg: Math.round(cpuMillis),
        memory_bytes_max: Math.round(
          this.#memoryBytes * (1 + 0.15 * ((ms % (9 * hourMs)) / (9 * hourMs)) + wanted * 1e-9),
        ),
        in_flight_max: Math.ceil((requests / seconds) * 0.03 * (1 + shift / 8)),
      };
    }
  }

  #measure(wanted: number, shift: number): { readonly requests: number; readonly latency: Uint8Array } {
    const counts = new Map<number, number>();
    let requests = 0;
    let sumUs = 0;
    for (const [offset, share] of this.#shape.shares.entries()) {
      const count = this.#roundEither(wanted * share);
      if (count === 0) continue;
      const bucket = this.#shape.firstBucket + offset + shift;
      counts.set(bucket, count);
      requests += count;
      sumUs += count * bucketLowerUs(bucket);
    }
    return { requests, latency: encodeHistogram({ counts, sumUs }) };
  }

  /** Rounds up at random, as often as the fraction says, so that small numbers keep their mean. */
  #roundEither(value: number): number {
    return Math.floor(value + this.#random.next());
  }
}

// ---------------------------------------------------------------------------------------------- servers

export class ServerCurve {
  readonly #organizationId: string;
  readonly #machine: Machine;
  readonly #random: Random;
  readonly #load: LoadCurve;
  readonly #cpuShare: number;
  readonly #memoryShare: number;
  readonly #bytesPerSecond: number;

  constructor(random: Random, organizationId: string, machine: Machine) {
    this.#organizationId = organizationId;
    this.#machine = machine;
    this.#random = random;
    this.#load = loadCurve(random, random.between(0.2, 0.6));
    this.#cpuShare = random.between(0.05, 0.35);
    this.#memoryShare = random.between(0.25, 0.7);
    this.#bytesPerSecond = random.between(50_000, 4_000_000);
  }

  *rows({ from, until, stepMs }: Span): Generator<CopyRow> {
    const seconds = stepMs / secondMs;
    const { cpuCount, memoryBytes, diskBytes, diskUsedShare, serverId } = this.#machine;
    for (let ms = floorTo(from, stepMs); ms + stepMs <= until.getTime(); ms += stepMs) {
      const noise = 1 + this.#random.normal() * (0.03 + 0.15 / Math.sqrt(seconds));
      const load = this.#load.at(ms + stepMs / 2) * Math.max(0.1, noise);
      const cpuMillis = Math.min(cpuCount * 1000, Math.round(cpuCount * 1000 * this.#cpuShare * load));
      const transferred = Math.round(this.#bytesPerSecond * load * seconds);
      yield {
        organization_id: this.#organizationId,
        server_id: serverId,
        at: new Date(ms),
        seconds,
        cpu_millis_avg: cpuMillis,
        memory_used_bytes_max: Math.round(memoryBytes * Math.min(0.97, this.#memoryShare * (0.92 + 0.08 * load))),
        memory_total_bytes: memoryBytes,
        // Logs and artifacts pile up over three days, then the old ones go.
        disk_used_bytes_max: Math.round(diskBytes * (diskUsedShare + (0.04 * (ms % (3 * dayMs))) / (3 * dayMs))),
        disk_total_bytes: diskBytes,
        network_received_bytes: Math.round(transferred * 0.3),
        network_sent_bytes: transferred,
        load1_millis_avg: Math.round(cpuMillis * this.#random.between(0.9, 1.3)),
        agent_cpu_millis_avg: this.#random.int(3, 9),
        agent_memory_bytes_max: 30_000_000 + this.#random.int(0, 3_000_000),
        open_connections_max: Math.round(40 * load + this.#random.int(0, 12)),
      };
    }
  }
}

function floorTo(at: Date, stepMs: number): number {
  return Math.floor(at.getTime() / stepMs) * stepMs;
}
