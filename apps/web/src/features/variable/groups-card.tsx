'use client';
// Shared groups of the project: attached ones give their secrets to the app.
import { Card, CardHeader } from '@fairlead/ui/card';
import { Checkbox } from '@fairlead/ui/input';
import { useMutation } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, AppSecrets } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { useRefetchVariables } from './use-variable-calls.ts';

export interface GroupsCardProps {
  readonly appId: AppDetail['id'];
  readonly groups: AppSecrets['groups'];
}

export function GroupsCard({ appId, groups }: GroupsCardProps) {
  const { can, paths } = useMe();
  const trpc = useTRPC();
  const refetch = useRefetchVariables();
  const attach = useAction(
    useMutation(trpc.secret.attachGroup.mutationOptions()),
    "The group wasn't attached",
    refetch,
  );
  const detach = useAction(
    useMutation(trpc.secret.detachGroup.mutationOptions()),
    "The group wasn't detached",
    refetch,
  );
  return (
    <Card>
      <CardHeader
        title="Shared groups"
        detail={
          <HoverLink href={paths.sharedSecrets} className="underline">
            Edit shared groups
          </HoverLink>
        }
      />
      {groups.length === 0 ? (
        <p className="border-line border-t px-4 py-4 text-sm text-ink-faint">No shared groups in this project yet.</p>
      ) : (
        <ul>
          {groups.map((group) => (
            <li key={group.id} className="flex min-h-12 flex-wrap items-center gap-x-4 border-line border-t px-4 py-2">
              <Checkbox
                label={<span className="font-medium">{group.name}</span>}
                checked={group.attached}
                disabled={!can('secret.write') || attach.pending || detach.pending}
                onChange={() => (group.attached ? detach : attach).run({ appId, groupId: group.id })}
              />
              <span className="min-w-0 flex-1 truncate font-mono text-ink-faint text-sm">
                {group.secrets.map(({ name }) => name).join(', ')}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
