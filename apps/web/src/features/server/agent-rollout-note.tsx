'use client';
// Upgrade of all agents, on the page of all servers: the offer, its progress, and the reason of a stop.
import { Button } from '@fairlead/ui/button';
import { useFormats } from '@fairlead/ui/formats';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { StateMark, StateText, type Tone } from '@fairlead/ui/state-pill';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { AgentRollout } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';
import { leftOutSentence, nameList, skipSentence, stopSentence, waveSentence } from './rollout-text.ts';
import { AgentRolloutDialog } from './server-dialogs.ts';

/** Hidden when there is nothing to report. */
export function AgentRolloutNote() {
  const { plural } = useFormats();
  const { can } = useMe();
  const trpc = useTRPC();
  const { data } = useQuery(trpc.agentRollout.get.queryOptions());
  const [asking, setAsking] = useState(false);
  const formats = useFormats();
  if (data === undefined) return null;
  const { rollout, available } = data;
  const mayUpgrade = can('server.upgrade');
  const ask = <Button onClick={() => setAsking(true)}>Upgrade all</Button>;
  const dialog =
    available !== null && asking ? (
      <AgentRolloutDialog available={available} open onClose={() => setAsking(false)} />
    ) : null;

  if (rollout?.state === 'running') {
    return (
      <Note
        tone="busy"
        title={`Upgrading agents to ${rollout.version}`}
        actions={mayUpgrade ? <Cancel rollout={rollout} /> : null}
      >
        <p aria-live="polite">{waveSentence(rollout, formats)} Apps keep running.</p>
        <CurrentWave rollout={rollout} />
        <LeftOut servers={rollout.leftOut} />
        <p className="text-sm">
          Started <RelativeTime at={rollout.createdAt} />
          {rollout.requestedBy === null ? null : ` by ${rollout.requestedBy}`}.
        </p>
      </Note>
    );
  }
  if (rollout?.state === 'stopped') {
    const other = !rollout.isOffered && available !== null;
    const actions = (
      <>
        <Cancel rollout={rollout} />
        {other ? ask : <Retry rollout={rollout} />}
      </>
    );
    return (
      <>
        <Note
          tone="bad"
          title={`Upgrade of agents to ${rollout.version} stopped`}
          actions={mayUpgrade ? actions : null}
        >
          <p>{stopSentence(rollout, formats)}</p>
          {other ? <p>Agent {available.version} is now available.</p> : null}
          <LeftOut servers={rollout.leftOut} />
        </Note>
        {dialog}
      </>
    );
  }
  if (rollout?.state === 'skipped') {
    return (
      <>
        <Note
          tone="warn"
          title={`No agent was upgraded to ${rollout.version}`}
          actions={available !== null && mayUpgrade ? ask : null}
        >
          <p>{skipSentence(rollout)}</p>
          <LeftOut servers={rollout.leftOut} />
        </Note>
        {dialog}
      </>
    );
  }
  if (available !== null && mayUpgrade) {
    const servers = plural(available.waves.flat().length, 'server');
    return (
      <>
        <Note tone="idle" title={`Agent ${available.version} is available for ${servers}`} actions={ask}>
          <p>One server is upgraded first, then the others in waves. Apps keep running.</p>
        </Note>
        {dialog}
      </>
    );
  }
  if (rollout?.state !== 'succeeded') return null;
  const upgraded = rollout.servers.filter(({ progress }) => progress === 'upgraded');
  return (
    <Note tone="ok" title={`Agent ${rollout.version} runs on ${plural(upgraded.length, 'server')}`}>
      {upgraded.length === 0 ? null : <p>Upgraded: {nameList(upgraded)}.</p>}
      <LeftOut servers={rollout.leftOut} />
    </Note>
  );
}

interface NoteProps {
  readonly tone: Tone;
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

function Note({ tone, title, actions = null, children }: NoteProps) {
  return (
    <section
      aria-label="Agent upgrade"
      className={`mb-4 flex flex-wrap items-start gap-x-3 gap-y-3 rounded-card px-4 py-3 ${
        tone === 'bad' ? 'bg-bad-wash' : 'border border-line bg-surface'
      }`}
    >
      <span className="mt-1.5">
        <StateMark tone={tone} />
      </span>
      <div className="min-w-0 flex-1 basis-72">
        <h2 className={`font-semibold ${tone === 'bad' ? 'text-bad-text' : 'text-ink'}`}>{title}</h2>
        <div className="mt-0.5 flex flex-col gap-1 text-pretty text-ink-soft">{children}</div>
      </div>
      {actions === null ? null : <span className="flex gap-2">{actions}</span>}
    </section>
  );
}

type Progress = AgentRollout['servers'][number]['progress'];

const progressLook: Readonly<Record<Progress, readonly [Tone, string]>> = {
  waiting: ['idle', 'Waiting'],
  upgrading: ['busy', 'Upgrading'],
  upgraded: ['ok', 'Upgraded'],
  failed: ['bad', 'Failed'],
};

/** Servers of a wave that are listed; the sentence above counts all. */
const SHOWN_MAX = 12;

function CurrentWave({ rollout }: { readonly rollout: AgentRollout }) {
  const current = rollout.servers.filter(({ wave }) => wave === rollout.wave);
  if (current.length === 0) return null;
  const done = (progress: Progress) => (progress === 'upgraded' ? 1 : 0);
  const shown = [...current].sort((a, b) => done(a.progress) - done(b.progress)).slice(0, SHOWN_MAX);
  return (
    <ul aria-label="Servers of this wave" className="mt-1 flex flex-wrap gap-x-5 gap-y-1">
      {shown.map(({ id, name, progress }) => {
        const [tone, word] = progressLook[progress];
        return (
          <li key={id} className="flex min-w-0 items-center gap-2">
            <span className="truncate text-ink">{name}</span>
            <StateText tone={tone}>{word}</StateText>
          </li>
        );
      })}
      {current.length > shown.length ? <li>and {current.length - shown.length} more</li> : null}
    </ul>
  );
}

function LeftOut({ servers }: { readonly servers: AgentRollout['leftOut'] }) {
  const sentence = leftOutSentence(servers);
  return sentence === null ? null : <p className="text-sm">{sentence}</p>;
}

function Cancel({ rollout }: { readonly rollout: AgentRollout }) {
  const trpc = useTRPC();
  const refresh = useRefresh();
  const cancel = useAction(
    useMutation(trpc.agentRollout.cancel.mutationOptions()),
    "The upgrade wasn't cancelled",
    refresh,
  );
  return (
    <Button pending={cancel.pending} onClick={() => cancel.run({ rolloutId: rollout.id })}>
      Cancel upgrade
    </Button>
  );
}

function Retry({ rollout }: { readonly rollout: AgentRollout }) {
  const trpc = useTRPC();
  const refresh = useRefresh();
  const retry = useAction(
    useMutation(trpc.agentRollout.retry.mutationOptions()),
    "The upgrade wasn't continued",
    refresh,
  );
  return (
    <Button pending={retry.pending} onClick={() => retry.run({ rolloutId: rollout.id })}>
      Try again
    </Button>
  );
}

function useRefresh(): () => void {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  return () => void queryClient.invalidateQueries(trpc.agentRollout.pathFilter());
}
