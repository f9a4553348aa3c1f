// Phases and sentences that GitHub shows about a deployment, and the pauses between attempts. Pure.

/** Part of a deployment's life that GitHub distinguishes. */
export type ReportPhase = 'queued' | 'in_progress' | 'live' | 'failed' | 'cancelled' | 'superseded';

export function reportPhaseOf(state: string): ReportPhase {
  switch (state) {
    case 'queued':
    case 'live':
    case 'failed':
    case 'cancelled':
    case 'superseded':
      return state;
    default:
      return 'in_progress';
  }
}

const titles: Readonly<Record<ReportPhase, string>> = {
  queued: 'Deployment is queued',
  in_progress: 'Deployment is running',
  live: 'Deployment is live',
  failed: 'Deployment failed',
  cancelled: 'Deployment was cancelled',
  superseded: 'Superseded by a newer deployment',
};

export function reportTitle({ phase, awaitsApproval }: { phase: ReportPhase; awaitsApproval: boolean }): string {
  return phase === 'queued' && awaitsApproval ? 'Deployment waits for approval' : titles[phase];
}

const backoffMs = 5_000;
const backoffMsMax = 60 * 60_000;

export function retryAt(now: Date, attempt: number): Date {
  return new Date(now.getTime() + Math.min(backoffMsMax, backoffMs * 2 ** Math.min(attempt, 16)));
}
