// Which subscriptions a change concerns. Pure.
import { type ChangeKind, changeKinds, type LiveEvent, type LiveTopic } from '@fairlead/contract/live';
import type { ChangeNotice } from '@fairlead/contract/notify';

/** An app's page also hears of its deployments and benchmarks; the organization hears of everything in it. */
export function concerns(topics: readonly LiveTopic[], notice: ChangeNotice): boolean {
  return topics.some((topic) => {
    if (topic.kind === 'organization') return topic.id === notice.organizationId;
    if (topic.kind === notice.kind && topic.id === notice.id) return true;
    return topic.kind === 'app' && topic.id === notice.appId;
  });
}

/** After a gap nobody knows what changed: every kind is said to have, and whoever shows it reads it again. */
export function changesAfterGap(topics: readonly LiveTopic[]): LiveEvent[] {
  const changes = new Map<string, LiveEvent>();
  const add = (kind: ChangeKind, id: string) => changes.set(`${kind}:${id}`, { type: 'changed', kind, id });
  for (const topic of topics) {
    if (topic.kind === 'organization') for (const kind of changeKinds) add(kind, '');
    else add(topic.kind, topic.id);
  }
  return [...changes.values()];
}
