// Decides what a push means for one app in one environment. Pure.
import { matcherOf, matchesGlob } from './globs.ts';
import { headRef, type PushEvent, toPushRef } from './push-event.ts';
import { newestPush, type OrderedPush } from './push-order.ts';
import type { PushOutcome, PushReason } from './schema.ts';
import { findSkipMarker } from './skip-marker.ts';

/** Rules of an app in an environment. */
export interface PushRules {
  /** Empty: the repository's default branch. */
  readonly branch: string;
  /** Glob of tags that are deployed; empty: none. */
  readonly tagPattern: string;
  /** Globs of paths; empty: every push counts. */
  readonly watchPaths: readonly string[];
  readonly isPaused: boolean;
}

/** An earlier push to the same ref and the decision about it. */
export interface KnownPush extends OrderedPush {
  readonly deliveryId: string;
  readonly outcome: PushOutcome;
  readonly reason: PushReason;
  /** Number of its deployment; null without one. */
  readonly deploymentNumber: number | null;
}

export interface PushDecision {
  readonly outcome: PushOutcome;
  readonly reason: PushReason;
  /** The marker, branch or pattern that decided; the delivery of the later push. */
  readonly detail: string;
}

export function decidePush(
  event: PushEvent & OrderedPush,
  rules: PushRules,
  known: readonly KnownPush[],
): PushDecision {
  const skipped = findSkipReason(event, rules);
  if (skipped !== null) return skipped;
  const repeated = known.find((push) => isSamePush(push, event));
  if (repeated !== undefined) return { outcome: 'skipped', reason: 'repeated', detail: repeated.deliveryId };
  const self = { ...event, deliveryId: null };
  const newest = newestPush([...known.filter(counts), self], [...known, self]);
  if (newest !== null && newest.deliveryId !== null) {
    return { outcome: 'superseded', reason: 'later_push', detail: newest.deliveryId };
  }
  if (event.deleted) return { outcome: 'skipped', reason: 'ref_deleted', detail: '' };
  if (rules.isPaused) return { outcome: 'paused', reason: 'paused', detail: '' };
  return { outcome: 'deployed', reason: 'matches', detail: '' };
}

/** Returns the newest push if it should be deployed and an older one was deployed instead; otherwise null. */
export function findMistaken(known: readonly KnownPush[]): KnownPush | null {
  const newest = newestPush(known.filter(counts), known);
  if (newest === null) return null;
  if (newest.outcome === 'superseded') return newest;
  const number = newest.deploymentNumber;
  return number !== null && known.some((push) => (push.deploymentNumber ?? 0) > number) ? newest : null;
}

/** A deletion counts too: what was pushed before it must not be deployed after it. */
function counts({ outcome, reason }: KnownPush): boolean {
  return outcome !== 'skipped' || reason === 'ref_deleted';
}

/** Returns null if the push is one that the rules deploy. */
function findSkipReason(event: PushEvent, rules: PushRules): PushDecision | null {
  const ref = toPushRef(event.ref);
  if (event.ref === headRef) return findSkipOfCommit(event, rules);
  if (ref === null) return skip('not_a_branch', event.ref);
  if (ref.kind === 'tag') {
    if (rules.tagPattern === '') return skip('no_tag_pattern', ref.name);
    if (!matchesGlob(rules.tagPattern, ref.name)) return skip('other_tag', rules.tagPattern);
  } else {
    const branch = rules.branch === '' ? event.repository.defaultBranch : rules.branch;
    if (branch === null) return skip('unknown_default_branch', ref.name);
    if (branch !== ref.name) return skip('other_branch', branch);
  }
  return event.deleted ? null : findSkipOfCommit(event, rules);
}

function findSkipOfCommit(event: PushEvent, rules: PushRules): PushDecision | null {
  const marker = findSkipMarker(event.commitMessage);
  if (marker !== null) return skip('skip_marker', marker);
  const { watchPaths } = rules;
  return changesAny(watchPaths, event.changedFiles) ? null : skip('no_watched_path', watchPaths.join(', '));
}

/** More changed files are as good as unknown ones. */
const changedFilesMax = 20_000;

/** True without watch paths too. `changedFiles`: null if they are unknown. */
export function changesAny(watchPaths: readonly string[], changedFiles: readonly string[] | null): boolean {
  if (watchPaths.length === 0 || changedFiles === null || changedFiles.length > changedFilesMax) return true;
  return changedFiles.some(matcherOf(watchPaths));
}

function skip(reason: PushReason, detail: string): PushDecision {
  return { outcome: 'skipped', reason, detail };
}

/** The same push under another delivery id. Without a time, equal hashes may be two pushes. */
function isSamePush(a: OrderedPush, b: OrderedPush): boolean {
  return (
    a.pushedAt !== null &&
    a.pushedAt.getTime() === b.pushedAt?.getTime() &&
    a.before === b.before &&
    a.after === b.after
  );
}
