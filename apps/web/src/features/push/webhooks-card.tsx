'use client';
// Webhooks of an app, for git hosts without an integration. A token or secret is shown once, when it is made.
import { Button, IconButton } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { CopyButton } from '@fairlead/ui/copy-button';
import { CrossIcon } from '@fairlead/ui/cross-icon';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Plus, RotateCw } from 'lucide-react';
import dynamic from 'next/dynamic';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, Outputs } from '../../api/types.ts';
import { ConfirmDialog } from '../../common/form/confirm-dialog.tsx';
import { useMe } from '../../common/organization/me.tsx';

const WebhookDialog = dynamic(() => import('./webhook-dialog.tsx').then((module) => module.WebhookDialog), {
  ssr: false,
});

export type Webhook = Outputs['webhook']['list']['items'][number];

export function WebhooksCard({ app }: { readonly app: AppDetail }) {
  const { can } = useMe();
  const trpc = useTRPC();
  const [making, setMaking] = useState<Webhook | 'new' | null>(null);
  const [removing, setRemoving] = useState<Webhook | null>(null);
  const webhooks = useQuery(trpc.webhook.list.queryOptions({ appId: app.id })).data?.items ?? [];
  const mayWrite = can('secret.write', { projectId: app.projectId });
  if (app.repositoryUrl === '') return null;
  return (
    <Card>
      <CardHeader title="Webhooks" detail="For GitLab, Gitea, Forgejo and scripts" />
      {webhooks.length === 0 ? (
        <p className="border-line border-t px-4 py-4 text-ink-faint text-sm">No webhooks.</p>
      ) : (
        <ul>
          {webhooks.map((webhook) => (
            <li
              key={webhook.id}
              className="flex flex-wrap items-center gap-x-2 gap-y-1 border-line border-t px-4 py-2.5"
            >
              <span className="min-w-0 flex-1">
                <span className="block truncate font-medium">{webhook.name}</span>
                <span className="block text-pretty text-ink-faint text-sm">
                  {webhook.kind === 'token' ? 'token' : 'secret'} <span className="font-mono">…{webhook.hint}</span> ·{' '}
                  {webhook.lastDeliveryAt === null ? (
                    'never used'
                  ) : (
                    <>
                      last delivery <RelativeTime at={webhook.lastDeliveryAt} />
                    </>
                  )}
                </span>
              </span>
              {mayWrite ? (
                <>
                  <IconButton size="small" label={`Rotate ${webhook.name}`} onClick={() => setMaking(webhook)}>
                    <RotateCw size={14} aria-hidden="true" />
                  </IconButton>
                  <IconButton size="small" label={`Delete ${webhook.name}`} onClick={() => setRemoving(webhook)}>
                    <CrossIcon />
                  </IconButton>
                </>
              ) : null}
              <WebhookUrl id={webhook.id} />
            </li>
          ))}
        </ul>
      )}
      {mayWrite ? (
        <div className="border-line border-t p-4">
          <Button icon={<Plus size={15} aria-hidden="true" />} onClick={() => setMaking('new')}>
            Create webhook
          </Button>
        </div>
      ) : null}
      {making === null ? null : (
        <WebhookDialog appId={app.id} webhook={making === 'new' ? null : making} onClose={() => setMaking(null)} />
      )}
      {removing === null ? null : <DeleteDialog appId={app.id} webhook={removing} onClose={() => setRemoving(null)} />}
    </Card>
  );
}

export function WebhookUrl({ id }: { readonly id: string }) {
  const path = `/api/webhook/${id}`;
  const url = typeof window === 'undefined' ? path : `${window.location.origin}${path}`;
  return (
    <span className="flex min-w-0 basis-full items-center gap-1 rounded-control bg-sunken pl-3">
      <code suppressHydrationWarning className="min-w-0 flex-1 truncate font-mono text-sm">
        {url}
      </code>
      <CopyButton value={url} label="Copy URL" />
    </span>
  );
}

interface DeleteDialogProps {
  readonly appId: AppDetail['id'];
  readonly webhook: Webhook;
  readonly onClose: () => void;
}

function DeleteDialog({ appId, webhook, onClose }: DeleteDialogProps) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const remove = useMutation(trpc.webhook.delete.mutationOptions());
  const confirm = () =>
    remove.mutate(
      { appId, webhookId: webhook.id },
      {
        onSuccess: () => {
          void queryClient.invalidateQueries(trpc.webhook.pathFilter());
          void queryClient.invalidateQueries(trpc.push.pathFilter());
          onClose();
        },
      },
    );
  return (
    <ConfirmDialog
      title={`Delete webhook ${webhook.name}`}
      action="Delete webhook"
      pending={remove.isPending}
      error={remove.error}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>Requests to its URL are then rejected. This can't be undone.</p>
    </ConfirmDialog>
  );
}
