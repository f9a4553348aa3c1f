'use client';
// Row of a pull request: title, state, address, and what a member can do.
import { Button } from '@fairlead/ui/button';
import { shortHash } from '@fairlead/ui/lib/format';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ExternalLink } from 'lucide-react';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { lookOfPreview, type Preview, sentenceOfPreview } from '../../common/deployment/preview-looks.ts';
import { LookText } from '../../common/deployment/state-view.tsx';
import { ConfirmDialog } from '../../common/form/confirm-dialog.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';

interface PreviewRowProps {
  readonly app: AppDetail;
  readonly preview: Preview;
}

export function PreviewRow({ app, preview }: PreviewRowProps) {
  const { paths } = useMe();
  const { number, title, author, headHash, isFork, state, problem, url, pullRequestUrl, deploymentId } = preview;
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 border-line border-t px-4 py-3 first:border-t-0">
      <span className="min-w-0 flex-1 basis-80">
        <span className="flex min-w-0 items-baseline gap-2">
          <a
            href={pullRequestUrl}
            target="_blank"
            rel="noreferrer"
            className="min-w-0 truncate font-medium hover:underline"
          >
            <span className="tabular text-ink-faint">#{number}</span> {title}
          </a>
          <LookText look={lookOfPreview(preview)} />
        </span>
        <span className="mt-0.5 flex min-w-0 flex-wrap items-baseline gap-x-2 text-ink-faint text-sm">
          <code className="font-mono text-xs">{shortHash(headHash)}</code>
          <span>
            {author}
            {isFork ? ', from a fork' : ''}
          </span>
          <RelativeTime at={preview.pushedAt} />
          {deploymentId === null ? null : (
            <HoverLink href={paths.deployment(deploymentId)} className="text-ink-soft hover:underline">
              Log
            </HoverLink>
          )}
        </span>
        {state === 'active' ? null : (
          <span className="mt-0.5 block text-pretty text-ink-soft text-sm">{sentenceOfPreview(state, problem)}</span>
        )}
        {url === null ? null : (
          <a
            href={url}
            target="_blank"
            rel="noreferrer"
            className="mt-1 inline-flex max-w-full items-center gap-1.5 font-mono text-sm text-ink-soft hover:text-ink"
          >
            <span className="truncate">{url.replace(/^https?:\/\//, '')}</span>
            <ExternalLink size={13} aria-hidden="true" className="shrink-0" />
            <span className="sr-only">(opens in a new tab)</span>
          </a>
        )}
      </span>
      <RowActions app={app} preview={preview} />
    </li>
  );
}

function RowActions({ app, preview }: PreviewRowProps) {
  const { can } = useMe();
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const [asked, setAsked] = useState<'approve' | 'remove' | null>(null);
  // The newest commit may change while a member reads the one that they are about to approve.
  const [askedHash, setAskedHash] = useState('');
  const { id: previewId, headHash: commitHash, number, author, state, environmentId } = preview;
  const done = (title: string) => () => {
    setAsked(null);
    toast({ title });
    void queryClient.invalidateQueries(trpc.preview.pathFilter());
  };
  const approve = useAction(
    useFreshMutation(trpc.preview.approve.mutationOptions()),
    "The commit wasn't approved",
    done('Commit approved: the preview is built'),
  );
  const remove = useAction(
    useMutation(trpc.preview.remove.mutationOptions()),
    "The preview wasn't removed",
    done(`Preview of #${number} removed until the next push`),
  );
  const scope = { projectId: app.projectId };
  return (
    <>
      {state === 'waiting' && can('deployment.approve', scope) ? (
        <Button
          size="small"
          onClick={() => {
            setAskedHash(commitHash);
            setAsked('approve');
          }}
        >
          Approve commit
        </Button>
      ) : null}
      {environmentId !== null && can('deployment.write', scope) ? (
        <Button size="small" variant="danger-outline" onClick={() => setAsked('remove')}>
          Remove
        </Button>
      ) : null}
      <ConfirmDialog
        open={asked === 'approve'}
        title={`Approve ${shortHash(askedHash)} of #${number}`}
        action="Approve commit"
        pending={approve.pending}
        onConfirm={() => approve.run({ previewId, commitHash: askedHash })}
        onClose={() => setAsked(null)}
      >
        <p>
          Code of {author} is built and run on your server, with the variables and secrets of previews. Read the changes
          first. The next push needs another approval.
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        open={asked === 'remove'}
        title={`Remove the preview of #${number}`}
        action="Remove preview"
        pending={remove.pending}
        onConfirm={() => remove.run({ previewId })}
        onClose={() => setAsked(null)}
      >
        <p>Its address, deployments and logs are deleted. The next push to the pull request creates it again.</p>
      </ConfirmDialog>
    </>
  );
}
