// Chooses the load servers of a run or a saved plan.
import { distributionFaults, LOAD_SERVERS_MAX } from '@fairlead/core/benchmark/distribution';
import type { BenchmarkPlan } from '@fairlead/core/benchmark/schema';
import { Checkbox } from '@fairlead/ui/input';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useId } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { SavedPlan, ServerSummary } from '../../api/types.ts';
import { serverLabel } from '../../common/server/server-options.tsx';

const DELETED = 'A chosen server was deleted. Uncheck it.';

export interface LoadServerFieldsProps {
  readonly plan: BenchmarkPlan;
  /** Server of the app, which can't be chosen. */
  readonly ownServerId: ServerSummary['id'] | undefined;
  readonly chosen: readonly ServerSummary['id'][];
  /** Load servers of saved plans: names for chosen servers that the list of servers lacks. */
  readonly savedServers: SavedPlan['loadServers'];
  readonly error: string | undefined;
  /** Shown without another server. */
  readonly withoutServers?: ReactNode;
  readonly onChosen: (serverIds: readonly ServerSummary['id'][]) => void;
}

export function LoadServerFields(props: LoadServerFieldsProps) {
  const { plan, ownServerId, chosen, savedServers, error, withoutServers = null, onChosen } = props;
  const trpc = useTRPC();
  const servers = useQuery(trpc.server.list.queryOptions()).data?.items;
  const others = servers?.filter(({ id }) => id !== ownServerId) ?? [];
  const hintId = useId();
  const nameOf = (id: ServerSummary['id']) => savedServers.find(({ serverId }) => serverId === id)?.name ?? null;
  // A deleted server stays chosen until a person removes it, so that no run silently has less load.
  const absent = chosen.filter((id) => !others.some((server) => server.id === id));
  if (others.length === 0 && absent.length === 0) return servers === undefined ? null : withoutServers;
  const isDeleted = absent.some((id) => nameOf(id) === null);
  const faults = [
    ...(isDeleted ? [DELETED] : []),
    ...(error === undefined ? distributionFaults(plan, chosen.length).map(({ message }) => message) : [error]),
  ];
  const toggle = (id: ServerSummary['id'], isChosen: boolean) =>
    onChosen(isChosen ? [...chosen, id] : chosen.filter((other) => other !== id));
  return (
    <fieldset aria-describedby={hintId} className="flex flex-col gap-2">
      <legend className="mb-1.5 font-medium">Load servers</legend>
      <div className="-m-1 grid max-h-56 grid-cols-1 gap-x-4 gap-y-2 overflow-y-auto p-1 sm:grid-cols-2">
        {others.map(({ id, name, state }) => (
          <Checkbox
            key={id}
            label={serverLabel({ name, state })}
            checked={chosen.includes(id)}
            disabled={!chosen.includes(id) && (state !== 'online' || chosen.length >= LOAD_SERVERS_MAX)}
            onChange={({ target }) => toggle(id, target.checked)}
          />
        ))}
        {absent.map((id) => (
          <Checkbox
            key={id}
            label={`${nameOf(id) ?? 'Deleted server'}${id === ownServerId ? ' (server of the app)' : ''}`}
            checked
            onChange={() => toggle(id, false)}
          />
        ))}
      </div>
      <p id={hintId} className="text-ink-faint text-sm">
        Default: the app's own server. Load servers send the requests to Fairlead over the network, all at the same
        time. They share the clients and the rate of the plan. A saved plan keeps the servers; a downloaded file does
        not.
      </p>
      {faults.map((fault) => (
        <p key={fault} data-invalid="" tabIndex={-1} role="alert" className="text-bad-text text-sm">
          {fault}
        </p>
      ))}
    </fieldset>
  );
}
