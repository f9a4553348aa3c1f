// Decides the state of a preview from its pull request, the app's policy and the number of previews. Pure.
import type { PullRequest } from './pull-request.ts';
import type { PreviewState } from './schema.ts';

const dayMs = 24 * 60 * 60_000;

export interface PolicyRules {
  readonly enabled: boolean;
  readonly previewsMax: number;
  readonly daysMax: number;
  readonly drafts: boolean;
}

export interface PreviewFacts {
  readonly isOpen: boolean;
  readonly isDraft: boolean;
  readonly isFork: boolean;
  readonly headHash: string;
  readonly approvedHash: string | null;
  readonly removedHash: string | null;
  readonly pushedAt: Date;
  readonly environmentId: string | null;
}

export interface Surroundings {
  readonly now: Date;
  /** A GitHub App's installation reaches the repository. */
  readonly isLinked: boolean;
  /** Its server has a base domain. */
  readonly hasBaseDomain: boolean;
  /** Previews of the app with an environment. */
  readonly previews: number;
}

/** `policy`: null if previews of the app were never switched on. */
export function previewStateOf(preview: PreviewFacts, policy: PolicyRules | null, around: Surroundings): PreviewState {
  const { headHash, environmentId } = preview;
  if (!preview.isOpen) return 'closed';
  if (policy === null || !policy.enabled || !around.isLinked) return 'off';
  if (preview.isDraft && !policy.drafts) return 'draft';
  if (preview.removedHash === headHash) return 'removed';
  if (around.now.getTime() - preview.pushedAt.getTime() > policy.daysMax * dayMs) return 'expired';
  // Precedes all states that build: an approval is for one commit.
  if (preview.isFork && preview.approvedHash !== headHash) return 'waiting';
  if (environmentId !== null) return 'active';
  if (!around.hasBaseDomain) return 'unnamed';
  return around.previews >= policy.previewsMax ? 'limited' : 'active';
}

/** States in which an existing environment stays. One that waits serves the commit that was approved before. */
export const lastingStates: readonly PreviewState[] = ['active', 'waiting', 'failed'];

export interface KnownChange {
  readonly headHash: string;
  /** Head that the last push replaced. */
  readonly formerHash: string;
  readonly isOpen: boolean;
  readonly changedAt: Date;
}

type Change = Pick<PullRequest, 'action' | 'headHash' | 'changedAt'>;

/** True if the change is older than what is known. GitHub's time has whole seconds; within one, heads and states decide. */
export function isStale({ action, headHash, changedAt }: Change, known: KnownChange): boolean {
  const [at, knownAt] = [changedAt.getTime(), known.changedAt.getTime()];
  if (at !== knownAt) return at < knownAt;
  if (headHash !== known.headHash && headHash === known.formerHash) return true;
  return !known.isOpen && action !== 'reopened' && action !== 'closed';
}
