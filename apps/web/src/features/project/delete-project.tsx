'use client';
// Dialog that deletes a project: lists what blocks the deletion, or what it deletes, and asks for the name.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { useFormats } from '@fairlead/ui/formats';
import { Skeleton } from '@fairlead/ui/skeleton';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { Outputs, Project } from '../../api/types.ts';
import { ConfirmDelete } from '../../common/form/confirm-delete.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { QueryView } from '../../common/page/query-view.tsx';

type Detail = Outputs['project']['get'];

interface Props {
  readonly project: Project;
  readonly onClose: () => void;
}

export function DeleteProject({ project, onClose }: Props) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  // Contents are read when the dialog opens: an older answer could name too little.
  const detail = useQuery({ ...trpc.project.get.queryOptions({ projectId: project.id }), gcTime: 0, staleTime: 0 });
  const remove = useMutation(trpc.project.delete.mutationOptions());
  const { id: projectId, name } = project;
  if (detail.data === undefined || isKept(detail.data)) {
    return (
      <Dialog
        open
        onClose={onClose}
        title={`Delete the project ${name}`}
        footer={<Button onClick={onClose}>Close</Button>}
      >
        <QueryView query={detail} skeleton={<Skeleton className="h-16 w-full" />}>
          {(data) => <Reasons project={data} />}
        </QueryView>
      </Dialog>
    );
  }
  return (
    <ConfirmDelete
      open
      onClose={onClose}
      what="project"
      name={name}
      consequences={<Losses project={detail.data} />}
      pending={remove.isPending}
      error={remove.error}
      onConfirm={(confirmName) =>
        remove.mutate(
          { projectId, confirmName },
          {
            onSuccess: () => {
              onClose();
              toast({ title: `${name} is deleted` });
              void queryClient.invalidateQueries();
            },
          },
        )
      }
    />
  );
}

function isKept({ isOnly, apps, deletedApps, secretGroups }: Detail): boolean {
  return isOnly || apps.length > 0 || deletedApps.length > 0 || secretGroups.length > 0;
}

function Reasons({ project }: { readonly project: Detail }) {
  const { paths } = useMe();
  const { isOnly, apps, deletedApps, secretGroups, name } = project;
  if (isOnly) {
    return (
      <p className="text-ink-soft">
        An organization keeps at least one project. Create another one first, or rename this one.
      </p>
    );
  }
  return (
    <div className="flex flex-col gap-3 text-ink-soft">
      <p>You can delete {name} when it has no app and no shared group.</p>
      <ul className="list-disc space-y-1 pl-5">
        {apps.length === 0 ? null : (
          <li>
            {apps.length === 1
              ? `Move or delete ${apps[0]} in its settings.`
              : `Move or delete its ${apps.length} apps, each in its settings: ${namesOf(apps)}.`}
          </li>
        )}
        {deletedApps.length === 0 ? null : (
          <li>
            Under{' '}
            <HoverLink href={paths.deletedApps} className="underline underline-offset-2">
              Recently deleted
            </HoverLink>
            , delete {namesOf(deletedApps)} permanently, or restore and move {deletedApps.length === 1 ? 'it' : 'them'}.
          </li>
        )}
        {secretGroups.length === 0 ? null : (
          <li>
            Delete its{' '}
            <HoverLink href={paths.sharedSecrets} className="underline underline-offset-2">
              shared groups
            </HoverLink>
            : {namesOf(secretGroups)}.
          </li>
        )}
      </ul>
    </div>
  );
}

function Losses({ project: { environments, grantCount, tokenCount } }: { readonly project: Detail }) {
  const { plural } = useFormats();
  return (
    <ul className="list-disc space-y-1 pl-5">
      <li>
        Its {environments.length === 1 ? 'environment' : 'environments'} {namesOf(environments)}{' '}
        {environments.length === 1 ? 'is' : 'are'} deleted.
      </li>
      {grantCount === 0 ? null : <li>It revokes {plural(grantCount, 'role')} limited to the project.</li>}
      {tokenCount === 0 ? null : (
        <li>It revokes {plural(tokenCount, 'API token')} limited to the project. Their clients are rejected.</li>
      )}
      <li>Volumes stay on their servers until you delete them.</li>
      <li>This can't be undone.</li>
    </ul>
  );
}

const NAMES_SHOWN = 5;
const list = new Intl.ListFormat('en', { type: 'conjunction' });

function namesOf(names: readonly string[]): string {
  const rest = names.length - NAMES_SHOWN;
  return list.format(rest > 0 ? [...names.slice(0, NAMES_SHOWN), `${rest} more`] : names);
}
