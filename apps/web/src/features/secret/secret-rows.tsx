'use client';
// Table of the secrets of an app or a group, with their actions: change, reveal, history, delete.
import { Button, IconButton } from '@fairlead/ui/button';
import { CopyButton } from '@fairlead/ui/copy-button';
import { useNow } from '@fairlead/ui/lib/clock';
import { Menu, MenuItem, MenuSeparator } from '@fairlead/ui/menu';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Badge, StateText } from '@fairlead/ui/state-pill';
import { useToast } from '@fairlead/ui/toast';
import { ClipboardPaste, Ellipsis, Eye, History, Pencil, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import type { SecretOwner, SecretView } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { DeleteDialog } from './delete-dialog.tsx';
import { HistoryDialog } from './history-dialog.tsx';
import { PasteDialog } from './paste-dialog.tsx';
import { SecretDialog } from './secret-dialog.tsx';
import { useReveal } from './use-secret-calls.ts';

/** Time before the expiry at which the reminder is sent. */
const REMINDED_MS = 14 * 24 * 60 * 60_000;

type Open =
  | { readonly kind: 'edit'; readonly secret: SecretView | null }
  | { readonly kind: 'history'; readonly secret: SecretView }
  | { readonly kind: 'delete'; readonly secret: SecretView }
  | { readonly kind: 'paste' };

export interface SecretRowsProps {
  readonly owner: SecretOwner;
  readonly secrets: readonly SecretView[];
}

export function SecretRows({ owner, secrets }: SecretRowsProps) {
  const { can } = useMe();
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  return (
    <>
      <ul>
        {secrets.map((secret) => (
          <SecretRow key={`${secret.id} ${secret.number}`} secret={secret} onOpen={setOpen} />
        ))}
      </ul>
      {can('secret.write') ? (
        <div className="flex flex-wrap gap-2 border-line border-t p-4">
          <Button icon={<Plus size={15} aria-hidden="true" />} onClick={() => setOpen({ kind: 'edit', secret: null })}>
            Add secret
          </Button>
          <Button
            variant="ghost"
            icon={<ClipboardPaste size={15} aria-hidden="true" />}
            onClick={() => setOpen({ kind: 'paste' })}
          >
            Paste .env
          </Button>
        </div>
      ) : null}
      {open?.kind === 'edit' ? <SecretDialog owner={owner} secret={open.secret} onClose={close} /> : null}
      {open?.kind === 'history' ? <HistoryDialog secret={open.secret} onClose={close} /> : null}
      {open?.kind === 'delete' ? <DeleteDialog secret={open.secret} onClose={close} /> : null}
      {open?.kind === 'paste' ? (
        <PasteDialog owner={owner} knownNames={new Set(secrets.map(({ name }) => name))} onClose={close} />
      ) : null}
    </>
  );
}

function SecretRow({ secret, onOpen }: { readonly secret: SecretView; readonly onOpen: (open: Open) => void }) {
  const { can } = useMe();
  const toast = useToast();
  const reveal = useReveal();
  const [shown, setShown] = useState<string | null>(null);
  const show = () => {
    if (shown !== null) return setShown(null);
    reveal(secret.id, secret.number).then(
      ({ value }) => setShown(value),
      (error: unknown) => {
        const failure = readFailure(error);
        if (failure.code !== 'session.not_fresh') {
          toast({ tone: 'bad', title: `${secret.name} wasn't shown`, detail: failure.message });
        }
      },
    );
  };
  return (
    <li className="flex min-h-12 flex-wrap items-center gap-x-4 gap-y-1 border-line border-t px-4 py-2">
      <code className="min-w-0 basis-56 truncate lg:basis-96 font-mono text-sm max-sm:flex-1" title={secret.name}>
        {secret.name}
      </code>
      <span className="order-last flex min-w-0 basis-full flex-wrap items-center gap-x-2 gap-y-1 sm:order-none sm:flex-1 sm:basis-0">
        {shown === null ? (
          <span className="text-ink-faint" role="img" aria-label="Hidden value">
            ••••••••
          </span>
        ) : (
          <>
            <code className="max-h-24 min-w-0 overflow-auto whitespace-pre-wrap break-all font-mono text-sm">
              {shown}
            </code>
            <CopyButton value={shown} label={`Copy the value of ${secret.name}`} />
          </>
        )}
        {secret.sealed ? <Badge>sealed</Badge> : null}
        {secret.atBuild ? <Badge>build</Badge> : null}
        {secret.delivery === 'file' ? <Badge>file</Badge> : null}
        {secret.expiresAt === null ? null : <Expiry at={secret.expiresAt} />}
      </span>
      <span className="hidden text-sm text-ink-faint md:inline">
        {secret.authorName ?? 'A service account'} · <RelativeTime at={secret.updatedAt} />
      </span>
      <Menu
        label={`Actions for ${secret.name}`}
        trigger={(trigger) => (
          <IconButton {...trigger} label={`Actions for ${secret.name}`} size="small">
            <Ellipsis size={16} aria-hidden="true" />
          </IconButton>
        )}
      >
        {can('secret.write') ? (
          <MenuItem icon={<Pencil size={15} />} onSelect={() => onOpen({ kind: 'edit', secret })}>
            Change
          </MenuItem>
        ) : null}
        {can('secret.reveal') && !secret.sealed ? (
          <MenuItem icon={<Eye size={15} />} onSelect={show}>
            {shown === null ? 'Show value' : 'Hide value'}
          </MenuItem>
        ) : null}
        <MenuItem icon={<History size={15} />} onSelect={() => onOpen({ kind: 'history', secret })}>
          History
        </MenuItem>
        {can('secret.write') ? (
          <>
            <MenuSeparator />
            <MenuItem danger icon={<Trash2 size={15} />} onSelect={() => onOpen({ kind: 'delete', secret })}>
              Delete
            </MenuItem>
          </>
        ) : null}
      </Menu>
    </li>
  );
}

/** Neutral while there is time, a warning from the reminder on, and an error once expired. */
function Expiry({ at }: { readonly at: Date }) {
  const now = useNow();
  const day = at.toISOString().slice(0, 10);
  const left = at.getTime() - now;
  if (left > REMINDED_MS) return <Badge>expires {day}</Badge>;
  return left > 0 ? <StateText tone="warn">expires {day}</StateText> : <StateText tone="bad">expired {day}</StateText>;
}
