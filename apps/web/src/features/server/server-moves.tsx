'use client';
// Moves of apps with their volumes, from and to a server: how far each is, and how it ended.
import type { ServerId } from '@fairlead/contract/ids';
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { type Formats, useFormats } from '@fairlead/ui/formats';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { StateText } from '@fairlead/ui/state-pill';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { VolumeMove } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';

/** Poll interval while an app is on its way, in milliseconds. */
const ASK_EVERY_MS = 3000;

const looks = {
  copying: { tone: 'busy', word: 'Copying' },
  restoring: { tone: 'busy', word: 'Restoring' },
  deploying: { tone: 'busy', word: 'Deploying' },
  succeeded: { tone: 'ok', word: 'Moved' },
  failed: { tone: 'bad', word: 'Failed' },
  cancelled: { tone: 'idle', word: 'Cancelled' },
} as const satisfies Record<VolumeMove['state'], { readonly tone: string; readonly word: string }>;

const isActive = ({ state }: VolumeMove) => state === 'copying' || state === 'restoring' || state === 'deploying';

export function ServerMoves({ serverId }: { readonly serverId: ServerId }) {
  const trpc = useTRPC();
  const { data } = useQuery({
    ...trpc.volumeMove.list.queryOptions({ serverId }),
    refetchInterval: ({ state }) => (state.data?.items.some(isActive) === true ? ASK_EVERY_MS : false),
  });
  if (data === undefined || data.items.length === 0) return null;
  return (
    <Card>
      <CardHeader title="Moves" detail="Apps that move with their volumes; listed for a week" />
      <ul>
        {data.items.map((move) => (
          <MoveRow key={move.moveId} move={move} />
        ))}
      </ul>
    </Card>
  );
}

function MoveRow({ move }: { readonly move: VolumeMove }) {
  const { can, paths } = useMe();
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const refetch = () => {
    void queryClient.invalidateQueries(trpc.volumeMove.pathFilter());
    void queryClient.invalidateQueries(trpc.server.pathFilter());
  };
  const cancel = useAction(useMutation(trpc.volumeMove.cancel.mutationOptions()), "The move wasn't cancelled", refetch);
  const retry = useAction(useFreshMutation(trpc.volumeMove.retry.mutationOptions()), "The move didn't start", refetch);
  const { moveId, slug, name, environmentId, environmentName, state, finishedAt } = move;
  const look = looks[state];
  const formats = useFormats();
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1.5 border-line border-t px-4 py-2.5">
      <span className="min-w-0 flex-1 basis-60 break-words">
        <HoverLink href={paths.app(slug, environmentId)} className="rounded-mark text-ink underline">
          {name}
        </HoverLink>{' '}
        <span className="text-ink-soft text-sm">
          · {environmentName}, {move.sourceName ?? 'a removed server'} → {move.targetName ?? 'a removed server'}
        </span>
        <span className="block text-pretty text-ink-soft text-sm">{progressOf(move, formats)}</span>
        {move.deleteLeftAt === null ? null : (
          <span className="block text-ink-faint text-sm">
            The copies that the app no longer uses are deleted <RelativeTime at={move.deleteLeftAt} />.
          </span>
        )}
      </span>
      <StateText tone={look.tone}>
        <span>
          {look.word}
          {finishedAt === null ? null : (
            <>
              {' '}
              <RelativeTime at={finishedAt} />
            </>
          )}
        </span>
      </StateText>
      {!can('server.write') ? null : isActive(move) ? (
        <Button
          size="small"
          pending={cancel.pending}
          disabled={move.isCancelled}
          onClick={() => cancel.run({ moveId })}
        >
          Cancel
        </Button>
      ) : state === 'failed' || state === 'cancelled' ? (
        <Button size="small" pending={retry.pending} onClick={() => retry.run({ moveId })}>
          Try again
        </Button>
      ) : null}
    </li>
  );
}

const steps: Readonly<Record<string, string>> = {
  wait: 'waits until the app has stopped',
  pack: 'is packed',
  upload: 'is uploaded',
  fetch: 'is downloaded',
  unpack: 'is unpacked',
};

/** Says where the app is, and what happens to each volume. */
function progressOf(move: VolumeMove, { formatBytes }: Formats): string {
  const { state, failureMessage, sourceName, targetName, volumes, isFromSnapshots } = move;
  if (state === 'failed') return failureMessage ?? 'It failed.';
  if (state === 'cancelled') return `The app stays on ${sourceName ?? 'its server'}.`;
  if (state === 'succeeded') {
    const bytes = volumes.reduce((sum, { sizeBytes }) => sum + (sizeBytes ?? 0), 0);
    return `${isFromSnapshots ? 'Restored from snapshots' : 'Copied'}, ${formatBytes(bytes)} packed.`;
  }
  if (state === 'deploying') return `Its volumes are on ${targetName ?? 'the other server'}. The app starts there.`;
  const words = volumes.map(({ name, state: copy, step }) =>
    copy === 'done' ? `${name} is ready` : `${name} ${steps[step ?? ''] ?? 'waits'}`,
  );
  return `The app is down. ${words.join(', ')}.`;
}
