// Publish/subscribe hub for the live events of this process, without history: an event is in the store before it is
// published. Invariant: an event reaches only watchers in the organization of its server, whatever ids the agent
// claims.
import type { LiveEvent, LiveTopic } from '@fairlead/contract/live';

type Listener = (event: LiveEvent) => void;

export interface LiveHub {
  publish(organizationId: string, event: LiveEvent): void;
  subscribe(organizationId: string, topics: readonly LiveTopic[], listener: Listener): () => void;
}

interface Watcher {
  readonly topics: ReadonlySet<string>;
  readonly listener: Listener;
}

export function createLiveHub(): LiveHub {
  const watchers = new Map<string, Set<Watcher>>();

  function publish(organizationId: string, event: LiveEvent): void {
    for (const watcher of watchers.get(organizationId) ?? []) {
      if (topicsOf(event).some((topic) => watcher.topics.has(topic))) watcher.listener(event);
    }
  }

  return {
    publish,
    subscribe: (organizationId, topics, listener) => {
      const watcher: Watcher = { topics: new Set(topics.map(keyOf)), listener };
      return addTo(watchers, organizationId, watcher);
    },
  };
}

function keyOf(topic: LiveTopic): string {
  // The hub scopes topics by organization already, so this topic needs no id.
  return topic.kind === 'organization' ? 'organization' : `${topic.kind}:${topic.id}`;
}

function topicsOf(event: LiveEvent): readonly string[] {
  switch (event.type) {
    case 'app.sample':
      return [`app:${event.appId}`, 'organization'];
    case 'server.sample':
      return [`server:${event.serverId}`, 'organization'];
    case 'log.lines':
      return [`deployment:${event.deploymentId}`];
    case 'changed':
      return [`${event.kind}:${event.id}`, 'organization'];
  }
}

function addTo<T>(groups: Map<string, Set<T>>, key: string, value: T): () => void {
  const group = groups.get(key) ?? new Set<T>();
  groups.set(key, group.add(value));
  return () => {
    group.delete(value);
    if (group.size === 0 && groups.get(key) === group) groups.delete(key);
  };
}
