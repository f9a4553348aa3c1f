// Runs both suites of e2e/fairness on one testbed, in their short or long form.
import type { Running } from '../perf/peer.ts';
import { BULK_BYTES_MAX, type FairnessCell, measureFairness, median } from './fairness.ts';
import { fairlead, NGINX_PEER, startPeer, startTestbed, stopAll } from './testbed.ts';
import { nameOf, obtainClients, runTransfer, transfers } from './transfers.ts';

/** Ratio of a small request's p99 to nginx's. */
export const RATIO_MAX = 3;

const LONG = { rounds: 3, seconds: 3, bulk: [] };
/** Counts bytes only, so one round is enough; only the long form has slow readers and compression. */
const SHORT = { rounds: 1, seconds: 0.5, bulk: ['8 downloads', '8 uploads'] };

export interface FairnessCheck {
  readonly agent: string;
  readonly folder: string;
  readonly long: boolean;
  readonly rounds?: number;
  readonly note: (line: string) => void;
}

export interface FairnessResult {
  /** `starved`: more bulk transfers pass while a small request waits than a fair core allows. */
  readonly cells: readonly (FairnessCell & { readonly starved: boolean })[];
  readonly transfers: readonly { readonly name: string; readonly fault: string | undefined }[];
}

export async function checkFairness({ agent, folder, long, rounds, note }: FairnessCheck): Promise<FairnessResult> {
  const clients = await obtainClients();
  const testbed = await startTestbed(folder);
  const running: Running[] = [];
  try {
    const ours = await startPeer(testbed, fairlead(agent));
    running.push(ours);
    const nginx = await startPeer(testbed, NGINX_PEER);
    running.push(nginx);
    const moved = [];
    for (const transfer of transfers(long)) {
      const fault = await runTransfer(testbed, ours, clients, transfer);
      moved.push({ name: nameOf(transfer), fault });
      if (fault !== undefined) note(`BROKEN ${nameOf(transfer)}: ${fault}`);
    }
    const form = long ? LONG : SHORT;
    const plan = { ...form, rounds: rounds ?? form.rounds };
    const cells = await measureFairness(testbed, { fairlead: ours, nginx }, plan, note);
    const isStarved = ({ ours }: FairnessCell) =>
      median(ours.map(({ bulkBytesMedian }) => bulkBytesMedian)) > BULK_BYTES_MAX;
    return { cells: cells.map((cell) => ({ ...cell, starved: isStarved(cell) })), transfers: moved };
  } finally {
    await stopAll(testbed, running);
  }
}
