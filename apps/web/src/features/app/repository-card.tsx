'use client';
// Repository of an app at GitHub: its state, and another choice.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { StateText, type Tone } from '@fairlead/ui/state-pill';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, Outputs, Repository } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { repositorySentences } from './repository-notice.tsx';
import { RepositoryPicker } from './repository-picker.tsx';

type Linked = NonNullable<Outputs['github']['getAppRepository']['repository']>;

const STATES: Readonly<Record<Linked['state'], { readonly tone: Tone; readonly label: string }>> = {
  active: { tone: 'ok', label: 'Connected' },
  suspended: { tone: 'warn', label: 'Suspended' },
  removed: { tone: 'bad', label: 'Uninstalled' },
  lost: { tone: 'bad', label: 'No access' },
};

export function RepositoryCard({ app }: { readonly app: AppDetail }) {
  const { can, paths } = useMe();
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const [picked, setPicked] = useState<Repository | null>(null);
  const linked = useQuery(trpc.github.getAppRepository.queryOptions({ appId: app.id })).data?.repository ?? null;
  const link = useAction(
    useMutation(trpc.github.linkRepository.mutationOptions()),
    "The repository can't be changed",
    ({ fullName }) => {
      setOpen(false);
      setPicked(null);
      toast({ title: `${fullName} is now the source`, detail: 'Takes effect with the next deployment.' });
      void queryClient.invalidateQueries(trpc.github.pathFilter());
      void queryClient.invalidateQueries(trpc.app.pathFilter());
    },
  );
  const mayWrite = can('app.write');
  if (linked === null && !mayWrite) return null;
  return (
    <Card>
      <CardHeader
        title="GitHub"
        detail={linked === null ? 'Not a repository of a connected GitHub account' : linked.accountLogin}
        action={
          mayWrite && !isOpen ? (
            <Button size="small" onClick={() => setOpen(true)}>
              {linked === null ? 'Choose repository' : 'Change repository'}
            </Button>
          ) : null
        }
      />
      {linked === null ? null : (
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-line border-t px-4 py-3">
          <span className="min-w-0 flex-1 basis-52">
            <a
              href={linked.url}
              target="_blank"
              rel="noreferrer"
              className="block min-h-6 truncate font-mono leading-6 hover:underline"
            >
              {linked.fullName}
            </a>
            <span className="block text-pretty text-ink-faint text-sm">
              {repositorySentences[linked.state]}{' '}
              {linked.state === 'active' ? null : (
                <HoverLink href={paths.git} className="underline">
                  Git settings
                </HoverLink>
              )}
            </span>
          </span>
          <StateText tone={STATES[linked.state].tone}>{STATES[linked.state].label}</StateText>
        </div>
      )}
      {isOpen ? (
        <div className="flex flex-col gap-4 border-line border-t p-4">
          <RepositoryPicker value={picked} error={undefined} onValue={setPicked} />
          <div className="flex justify-end gap-2">
            <Button variant="ghost" onClick={() => setOpen(false)}>
              Cancel
            </Button>
            <Button
              variant="accent"
              disabled={picked === null}
              pending={link.pending}
              onClick={() => {
                if (picked === null) return;
                const { installationId, repositoryId } = picked;
                link.run({ appId: app.id, installationId, repositoryId });
              }}
            >
              Use repository
            </Button>
          </div>
        </div>
      ) : null}
    </Card>
  );
}
