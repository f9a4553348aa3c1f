// Look and sentence of each decision about a push. Pure.
import type { Outputs } from '../../api/types.ts';
import { awaitingApproval, awaitingChecks, lookOfState, type StateLook } from '../../common/deployment/states.ts';

export type Delivery = Outputs['push']['list']['items'][number];
export type PushDecision = Delivery['decisions'][number];

const outcomeLook: Record<PushDecision['outcome'], StateLook> = {
  deployed: { tone: 'ok', shape: 'tick', label: 'Deployed' },
  skipped: { tone: 'idle', shape: 'dash', label: 'Skipped' },
  superseded: { tone: 'idle', shape: 'dash', label: 'Superseded' },
  paused: { tone: 'warn', shape: 'bang', label: 'Paused' },
  failed: { tone: 'bad', shape: 'cross', label: 'Not queued' },
  refused: { tone: 'bad', shape: 'cross', label: 'Rejected' },
};

/** Outcomes for the filter of the list. */
export const outcomes = Object.entries(outcomeLook).map(([value, { label }]) => ({ value, label }));

export function isOutcome(value: string): value is PushDecision['outcome'] {
  return Object.hasOwn(outcomeLook, value);
}

/** Shows the state of the deployment, if there is one. */
export function lookOfDecision(decision: PushDecision): StateLook {
  const { outcome, deploymentState, awaitsApproval, pendingChecks } = decision;
  if (outcome !== 'deployed' || deploymentState === null) return outcomeLook[outcome];
  if (!awaitsApproval && pendingChecks.length > 0) return awaitingChecks;
  return awaitsApproval ? awaitingApproval : lookOfState(deploymentState, decision);
}

const deliveryLook: Record<Delivery['state'], StateLook> = {
  received: { tone: 'busy', shape: 'half', label: 'Waiting' },
  processed: { tone: 'ok', shape: 'tick', label: 'Processed' },
  ignored: { tone: 'idle', shape: 'dash', label: 'Ignored' },
  failed: { tone: 'bad', shape: 'cross', label: 'Failed' },
};

export function lookOfDelivery({ state }: Pick<Delivery, 'state'>): StateLook {
  return deliveryLook[state];
}

/** Says why, in one sentence. */
export function sentenceOf(decision: PushDecision): string {
  const { outcome, reason, detail, deploymentState, awaitsApproval, pendingChecks, failureMessage } = decision;
  if (deploymentState === 'superseded') return 'A later push superseded its deployment before it started.';
  if (awaitsApproval) return 'The environment is protected. The deployment waits for approval.';
  if (pendingChecks.length > 0) {
    const noun = pendingChecks.length === 1 ? 'check' : 'checks';
    return `The deployment waits for the ${noun} ${pendingChecks.join(', ')} at GitHub.`;
  }
  if (deploymentState === 'failed' && failureMessage !== null) return `The deployment failed. ${failureMessage}`;
  switch (reason) {
    case 'matches':
      return 'The ref matches the rules. This commit was deployed.';
    case 'not_a_branch':
      return 'The ref is not a branch or a tag.';
    case 'other_branch':
      return `This environment follows the branch ${detail}.`;
    case 'unknown_default_branch':
      return "This environment follows the default branch, but the webhook doesn't say which branch that is. Set the branch in the settings.";
    case 'no_tag_pattern':
      return 'This environment deploys no tags. Set a tag pattern to deploy them.';
    case 'other_tag':
      return `The tag does not match the pattern ${detail}.`;
    case 'ref_deleted':
      return 'The ref was deleted. The live release stays live.';
    case 'skip_marker':
      return `The commit message has ${detail}.`;
    case 'no_watched_path':
      return `The push changes no path that this environment watches (${detail}).`;
    case 'repeated':
      return 'The same push was delivered before.';
    case 'later_push':
      return 'A later push to the same ref was received first.';
    case 'paused':
      return 'Deploys by push were paused.';
    case 'not_queued':
      return detail;
    case 'rerun':
      return outcome === 'refused' ? detail : `On GitHub, @${detail} asked for a re-run.`;
    case 'rollback':
      return outcome === 'refused' ? detail : `On GitHub, @${detail} asked for a rollback.`;
    case 'promote':
      return outcome === 'refused' ? detail : `On GitHub, @${detail} asked for a promotion.`;
    default:
      return outcome;
  }
}

/** Name of a branch or tag without its folder. */
export function shortRef(ref: string | null): string {
  return ref === null || ref === 'HEAD'
    ? 'default'
    : ref.replace(/^refs\/(?:heads|tags)\//, '').replace(/^refs\/pull\/(\d+)\/head$/, '#$1');
}
