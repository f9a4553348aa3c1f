'use client';
// Last step of a removal: the typed name, and the choice about the volumes.
import { Button } from '@fairlead/ui/button';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Checkbox } from '@fairlead/ui/input';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerSummary } from '../../api/types.ts';
import { TypedNameField } from '../../common/form/confirm-delete.tsx';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';

export interface RemoveServerFormProps {
  readonly server: ServerSummary;
  /** True: its agent answers and removes itself. */
  readonly withAgent: boolean;
  readonly onAsked: () => void;
  readonly onDeleted: () => void;
}

export function RemoveServerForm({ server, withAgent, onAsked, onDeleted }: RemoveServerFormProps) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const [typed, setTyped] = useState('');
  const [withData, setWithData] = useState(false);
  const uninstall = useFreshMutation(trpc.server.uninstall.mutationOptions());
  const remove = useMutation(trpc.server.delete.mutationOptions());
  const input = { serverId: server.id, confirmName: typed };
  const start = () => {
    if (!withAgent) return remove.mutate(input, { onSuccess: onDeleted });
    uninstall.mutate(
      { ...input, withData },
      {
        onSuccess: () => {
          void queryClient.invalidateQueries(trpc.server.pathFilter());
          onAsked();
        },
      },
    );
  };
  const error = withAgent ? uninstall.error : remove.error;
  return (
    <div className="flex flex-col items-start gap-3">
      {withAgent ? (
        <>
          <p>
            The agent stops everything it runs. Then it removes its service, control groups, firewall rules, caches and
            program, and reports when it is done.
          </p>
          <Checkbox
            label="Delete volumes too"
            hint="Default: the data of apps stays on the machine."
            checked={withData}
            onChange={(event) => setWithData(event.target.checked)}
          />
        </>
      ) : (
        <p>
          Its agent does not answer, or is too old to remove itself. The server is deleted here, and its identity is
          revoked. Then you get the command that removes the agent on the machine.
        </p>
      )}
      <TypedNameField name={server.name} value={typed} onValue={setTyped} />
      {error === null || wasCancelled(error) ? null : <ErrorNote>{readFailure(error).message}</ErrorNote>}
      <Button
        variant="danger"
        pending={uninstall.isPending || remove.isPending}
        disabled={typed !== server.name}
        onClick={start}
      >
        Remove server
      </Button>
    </div>
  );
}
