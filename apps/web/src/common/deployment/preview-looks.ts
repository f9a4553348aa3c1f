// Look and sentence of each state of a preview, for the app's list and for deliveries. Pure.
import type { Outputs } from '../../api/types.ts';
import { lookOfDeployment, type StateLook } from './states.ts';

export type Preview = Outputs['preview']['list']['items'][number];
export type PreviewDecision = Outputs['push']['get']['previews'][number];

const looks: Record<PreviewDecision['outcome'], StateLook> = {
  active: { tone: 'ok', shape: 'tick', label: 'Active' },
  waiting: { tone: 'warn', shape: 'bang', label: 'Waiting for approval' },
  limited: { tone: 'idle', shape: 'ring', label: 'Limit reached' },
  draft: { tone: 'idle', shape: 'dash', label: 'Draft' },
  expired: { tone: 'idle', shape: 'dash', label: 'Expired' },
  removed: { tone: 'idle', shape: 'dash', label: 'Removed' },
  unnamed: { tone: 'warn', shape: 'bang', label: 'No base domain' },
  failed: { tone: 'bad', shape: 'cross', label: 'Failed' },
  off: { tone: 'idle', shape: 'dash', label: 'Off' },
  closed: { tone: 'idle', shape: 'dash', label: 'Closed' },
  stale: { tone: 'idle', shape: 'dash', label: 'Outdated' },
  too_many: { tone: 'warn', shape: 'bang', label: 'Ignored' },
  no_watched_path: { tone: 'idle', shape: 'dash', label: 'Skipped' },
};

const sentences: Record<Exclude<PreviewDecision['outcome'], 'failed' | 'unnamed' | 'no_watched_path'>, string> = {
  active: 'The pull request has a preview.',
  waiting: 'The commit comes from a fork, so a member must approve it.',
  limited: 'The app has its maximum number of previews. This one starts when another ends.',
  draft: 'Previews of draft pull requests are off.',
  expired: 'The preview reached its maximum age. The next push creates it again.',
  removed: 'A member removed the preview. The next push creates it again.',
  off: 'Previews of the app are switched off.',
  closed: 'The pull request is closed. Its preview is removed.',
  stale: 'A later change of the pull request was received first.',
  too_many: '50 pull requests from forks already wait for approval.',
};

/** Look of a preview: that of its deployment while it is active. */
export function lookOfPreview(preview: Pick<Preview, 'state' | 'deploymentState' | 'awaitsBuild'>): StateLook {
  const { state, deploymentState } = preview;
  if (state !== 'active' || deploymentState === null) return looks[state];
  // A preview shows its newest deployment, which serves.
  return lookOfDeployment({ ...preview, state: deploymentState, isCurrent: true });
}

export function lookOfPreviewDecision({ outcome }: Pick<PreviewDecision, 'outcome'>): StateLook {
  return looks[outcome];
}

/** Says why, in one sentence. `problem`: also the watch paths that decided. */
export function sentenceOfPreview(outcome: PreviewDecision['outcome'], problem: string): string {
  if (outcome === 'no_watched_path') return `The pull request changes no watched path (${problem}).`;
  return outcome === 'failed' || outcome === 'unnamed' ? problem : sentences[outcome];
}
