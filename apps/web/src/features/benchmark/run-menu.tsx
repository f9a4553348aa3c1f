'use client';
// Menu of a benchmark's page: actions that are seldom needed.
import { IconButton } from '@fairlead/ui/button';
import { Menu, MenuItem } from '@fairlead/ui/menu';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Ellipsis, Trash2 } from 'lucide-react';
import { useRouter } from 'next/navigation';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { BenchmarkDetail } from '../../api/types.ts';
import { ConfirmDialog } from '../../common/form/confirm-dialog.tsx';
import { useMe } from '../../common/organization/me.tsx';

export function RunMenu({ run }: { readonly run: BenchmarkDetail }) {
  const { can } = useMe();
  const [isDeleting, setDeleting] = useState(false);
  if (run.canCancel || !can('benchmark.write')) return null;
  return (
    <>
      <Menu
        label="More actions"
        trigger={(trigger) => (
          <IconButton {...trigger} label="More actions">
            <Ellipsis size={16} aria-hidden="true" />
          </IconButton>
        )}
      >
        <MenuItem danger icon={<Trash2 size={15} />} onSelect={() => setDeleting(true)}>
          Delete run
        </MenuItem>
      </Menu>
      {isDeleting ? <DeleteRunDialog run={run} onClose={() => setDeleting(false)} /> : null}
    </>
  );
}

function DeleteRunDialog({ run, onClose }: { readonly run: BenchmarkDetail; readonly onClose: () => void }) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const toast = useToast();
  const queryClient = useQueryClient();
  const remove = useMutation(trpc.benchmark.delete.mutationOptions());
  const confirm = () =>
    remove.mutate(
      { runId: run.id },
      {
        onSuccess: () => {
          toast({ title: 'Benchmark deleted' });
          router.push(paths.benchmarks);
          void queryClient.invalidateQueries(trpc.benchmark.list.pathFilter());
        },
      },
    );
  return (
    <ConfirmDialog
      title="Delete this benchmark run"
      action="Delete run"
      pending={remove.isPending}
      error={remove.error}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>Its {run.rows.length} measured rows, tags and note are deleted permanently. Download the rows to keep them.</p>
    </ConfirmDialog>
  );
}
