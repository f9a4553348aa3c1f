'use client';
// Credentials of an app's source: a deploy key, a repository password, a registry password. Private keys and passwords
// are write-only.
import { Button, IconButton } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { CopyButton } from '@fairlead/ui/copy-button';
import { CrossIcon } from '@fairlead/ui/cross-icon';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { useToast } from '@fairlead/ui/toast';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { KeyRound } from 'lucide-react';
import dynamic from 'next/dynamic';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, Credential } from '../../api/types.ts';
import type { PasswordKind } from '../../common/app/source-host.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';

const RemoveDialog = dynamic(() => import('./remove-dialog.tsx').then((module) => module.RemoveDialog), { ssr: false });
const PasswordDialog = dynamic(() => import('./password-dialog.tsx').then((module) => module.PasswordDialog), {
  ssr: false,
});

const TITLE: Record<Credential['kind'], string> = {
  ssh: 'Deploy key',
  https: 'Repository password',
  registry: 'Registry password',
};

export function CredentialsCard({ app }: { readonly app: AppDetail }) {
  const { can } = useMe();
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const [asking, setAsking] = useState<PasswordKind | null>(null);
  const [removing, setRemoving] = useState<Credential['kind'] | null>(null);
  const list = useQuery(trpc.credential.list.queryOptions({ appId: app.id }));
  const credentials = list.data?.items ?? [];
  const hostOf = (kind: PasswordKind) => credentials.find((credential) => credential.kind === kind)?.host ?? '';
  const rotate = useAction(
    useFreshMutation(trpc.credential.rotateKey.mutationOptions()),
    "The key wasn't created",
    () => {
      void queryClient.invalidateQueries(trpc.credential.pathFilter());
      toast({ title: 'Key created', detail: 'Add its public key at the host of the repository.' });
    },
  );
  const mayWrite = can('secret.write', { projectId: app.projectId });
  const hasKey = credentials.some(({ kind }) => kind === 'ssh');
  return (
    <Card>
      <CardHeader title="Source credentials" detail="For private repositories and images" />
      {credentials.length === 0 ? (
        <p className="border-line border-t px-4 py-4 text-ink-faint text-sm">
          No credentials. Fairlead reads the repository or image anonymously.
        </p>
      ) : (
        <ul>
          {credentials.map((credential) => (
            <li
              key={credential.kind}
              className="flex flex-wrap items-center gap-x-3 gap-y-1 border-line border-t px-4 py-2.5"
            >
              <span className="min-w-0 flex-1">
                <span className="block font-medium">{TITLE[credential.kind]}</span>
                <span className="block text-pretty break-words text-ink-faint text-sm">
                  {credential.username === '' ? null : <span className="font-mono">{credential.username} · </span>}
                  {credential.kind === 'ssh' ? null : credential.host === '' ? (
                    'not bound to a host, enter it again · '
                  ) : (
                    <>
                      only for <span className="font-mono">{credential.host}</span> ·{' '}
                    </>
                  )}
                  set <RelativeTime at={credential.createdAt} />
                </span>
              </span>
              {mayWrite ? (
                <IconButton
                  size="small"
                  label={`Remove the ${TITLE[credential.kind].toLowerCase()}`}
                  onClick={() => setRemoving(credential.kind)}
                >
                  <CrossIcon />
                </IconButton>
              ) : null}
              {credential.publicKey === '' ? null : (
                <span className="flex min-w-0 basis-full items-center gap-1 rounded-control bg-sunken pl-3">
                  <code className="min-w-0 flex-1 truncate font-mono text-sm" title={credential.publicKey}>
                    {credential.publicKey}
                  </code>
                  <CopyButton value={credential.publicKey} label="Copy public key" />
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
      {mayWrite ? (
        <div className="flex flex-wrap gap-2 border-line border-t p-4">
          <Button
            icon={<KeyRound size={15} aria-hidden="true" />}
            pending={rotate.pending}
            title={hasKey ? 'The previous key stops working.' : undefined}
            onClick={() => rotate.run({ appId: app.id })}
          >
            {hasKey ? 'Create new deploy key' : 'Create deploy key'}
          </Button>
          <Button variant="ghost" disabled={!list.isSuccess} onClick={() => setAsking('https')}>
            Set repository password
          </Button>
          <Button variant="ghost" disabled={!list.isSuccess} onClick={() => setAsking('registry')}>
            Set registry password
          </Button>
        </div>
      ) : null}
      {asking === null ? null : (
        <PasswordDialog app={app} storedHost={hostOf(asking)} kind={asking} onClose={() => setAsking(null)} />
      )}
      {removing === null ? null : (
        <RemoveDialog appId={app.id} kind={removing} title={TITLE[removing]} onClose={() => setRemoving(null)} />
      )}
    </Card>
  );
}
