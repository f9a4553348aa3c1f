'use client';
// Live event stream of a page: one connection for the topics that the page names. Change events refetch queries; samples
// and log lines go to their subscribers.
import type { LiveEvent, LiveTopic } from '@fairlead/contract/live';
import { useQueryClient } from '@tanstack/react-query';
import { useSubscription } from '@trpc/tanstack-react-query';
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useEffectEvent,
  useMemo,
  useRef,
} from 'react';
import { createChangeCollector } from './change-collector.ts';
import { isSessionOver } from './failure.ts';
import { type LiveStatus, liveHealth } from './live-health.ts';
import { leaveToSignIn } from './query-client.ts';
import { useTRPC } from './trpc.tsx';

type Listener = (event: LiveEvent) => void;

interface LiveBus {
  readonly listen: (listener: Listener) => () => void;
}

const LiveContext = createContext<LiveBus>({ listen: () => () => undefined });

/** Minimum time between refetches in milliseconds: lists can change many times a second during a rollout. */
const REFETCH_INTERVAL_MS = 400;

export interface LivePageProps {
  /** Topics to subscribe to; empty means no stream. */
  readonly topics: readonly LiveTopic[];
  readonly children: ReactNode;
}

export function LivePage({ topics, children }: LivePageProps) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const listeners = useRef(new Set<Listener>());

  const refetch = useCallback(
    (kinds: ReadonlySet<string>) => {
      const filters = {
        app: [
          trpc.app.pathFilter(),
          trpc.overview.pathFilter(),
          trpc.domain.pathFilter(),
          trpc.host.pathFilter(),
          trpc.config.pathFilter(),
          trpc.volume.pathFilter(),
          trpc.preview.pathFilter(),
        ],
        server: [
          trpc.server.pathFilter(),
          trpc.agentRollout.pathFilter(),
          trpc.volumeMove.pathFilter(),
          trpc.overview.pathFilter(),
        ],
        agent_rollout: [trpc.agentRollout.pathFilter()],
        deployment: [
          trpc.deployment.get.pathFilter(),
          trpc.deployment.list.pathFilter(),
          trpc.push.pathFilter(),
          trpc.preview.pathFilter(),
          trpc.release.pathFilter(),
          trpc.config.pathFilter(),
          trpc.app.pathFilter(),
          trpc.overview.pathFilter(),
        ],
        delivery: [trpc.push.pathFilter()],
        benchmark: [trpc.benchmark.pathFilter()],
        certificate: [trpc.certificate.pathFilter()],
        member: [trpc.member.pathFilter(), trpc.invitation.pathFilter()],
      };
      for (const [kind, all] of Object.entries(filters)) {
        if (kinds.has(kind)) for (const filter of all) void queryClient.invalidateQueries(filter);
      }
    },
    [trpc, queryClient],
  );
  const collector = useMemo(() => createChangeCollector(REFETCH_INTERVAL_MS, refetch), [refetch]);
  useEffect(() => () => collector.stop(), [collector]);

  const subscription = useSubscription(
    trpc.live.watch.subscriptionOptions(
      { topics: [...topics] },
      {
        enabled: topics.length > 0,
        onData: (event) => {
          if (event.type === 'changed') collector.add(event.kind);
          for (const listener of listeners.current) listener(event);
        },
        onError: (error) => {
          if (isSessionOver(error)) leaveToSignIn();
        },
      },
    ),
  );
  const status: Exclude<LiveStatus, 'reconnecting'> =
    topics.length === 0
      ? 'idle'
      : subscription.status === 'pending'
        ? 'live'
        : subscription.status === 'error'
          ? 'broken'
          : 'connecting';

  const listen = useCallback((listener: Listener) => {
    listeners.current.add(listener);
    return () => void listeners.current.delete(listener);
  }, []);
  useEffect(() => liveHealth.set(status), [status]);
  useEffect(() => () => liveHealth.set('idle'), []);
  const bus = useMemo<LiveBus>(() => ({ listen }), [listen]);
  return <LiveContext value={bus}>{children}</LiveContext>;
}

/** Subscribes to every event of the page's stream, in order. */
export function useLiveEvents(onEvent: Listener): void {
  const { listen } = useContext(LiveContext);
  const hear = useEffectEvent(onEvent);
  useEffect(() => listen((event) => hear(event)), [listen]);
}
