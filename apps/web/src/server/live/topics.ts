// Matches changes to subscriptions. Pure.
import { type ChangeKind, changeKinds, type LiveEvent, type LiveTopic } from '@fairlead/contract/live';
import type { ChangeNotice } from '@fairlead/contract/notify';

/**
 * True if a topic matches the change: an app includes its deployments and benchmarks, an organization everything in it.
 */
export function matchesTopics(topics: readonly LiveTopic[], notice: ChangeNotice): boolean {
  return topics.some((topic) => {
    if (topic.kind === 'organization') return topic.id === notice.organizationId;
    if (topic.kind === notice.kind && topic.id === notice.id) return true;
    return topic.kind === 'app' && topic.id === notice.appId;
  });
}

/** Returns a change of every kind: after a gap the real changes are unknown, and subscribers must refetch. */
export function changesAfterGap(topics: readonly LiveTopic[]): LiveEvent[] {
  const changes = new Map<string, LiveEvent>();
  const add = (kind: ChangeKind, id: string) => changes.set(`${kind}:${id}`, { type: 'changed', kind, id });
  for (const topic of topics) {
    if (topic.kind === 'organization') for (const kind of changeKinds) add(kind, '');
    else add(topic.kind, topic.id);
  }
  return [...changes.values()];
}
