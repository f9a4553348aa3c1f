'use client';
// Restarts the app's instances or changes their number. Neither loses a request.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { useFormats } from '@fairlead/ui/formats';
import { Field, Input } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { RotateCw, Scaling } from 'lucide-react';
import { useRouter } from 'next/navigation';
import { type FormEvent, useId, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';

export function InstanceActions({ app }: { readonly app: AppDetail }) {
  const { paths, can } = useMe();
  const router = useRouter();
  const [scaling, setScaling] = useState(false);
  const restart = useAction(
    useMutation(useTRPC().deployment.restart.mutationOptions()),
    "The app wasn't restarted",
    ({ deploymentId }) => router.push(paths.deployment(deploymentId)),
  );
  return (
    <>
      {can('app.write', app) ? (
        <Button size="small" icon={<Scaling size={14} aria-hidden="true" />} onClick={() => setScaling(true)}>
          Scale
        </Button>
      ) : null}
      {can('deployment.write', app) && app.liveRelease !== null ? (
        <Button
          size="small"
          icon={<RotateCw size={14} aria-hidden="true" />}
          pending={restart.pending}
          title="New instances start beside the old ones and take over when they are healthy."
          onClick={() => restart.run({ appId: app.id, environmentId: app.environmentId })}
        >
          Restart
        </Button>
      ) : null}
      {scaling ? <ScaleDialog app={app} onClose={() => setScaling(false)} /> : null}
    </>
  );
}

const INSTANCES_MAX = 64;

function ScaleDialog({ app, onClose }: { readonly app: AppDetail; readonly onClose: () => void }) {
  const { plural } = useFormats();
  const formId = useId();
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const scale = useMutation(trpc.app.scale.mutationOptions());
  const [text, setText] = useState(String(app.instancesWanted));
  const instances = Number(text);
  const isFine = Number.isInteger(instances) && instances >= 1 && instances <= INSTANCES_MAX;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const before = app.instancesWanted;
    const put = (count: number, onDone: () => void) =>
      scale.mutate(
        { appId: app.id, environmentId: app.environmentId, instances: count },
        {
          onSuccess: () => {
            void queryClient.invalidateQueries(trpc.app.pathFilter());
            onDone();
          },
        },
      );
    put(instances, () => {
      onClose();
      toast({
        title: `${app.name} scales to ${plural(instances, 'instance')}`,
        action: { label: 'Undo', onSelect: () => put(before, () => undefined) },
      });
    });
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Scale ${app.name}`}
      detail="Takes effect immediately. Removed instances finish their requests first."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton
            form={formId}
            variant="accent"
            pending={scale.isPending}
            disabled={!isFine || instances === app.instancesWanted}
          >
            Scale
          </SubmitButton>
        </>
      }
    >
      <form id={formId} onSubmit={submit} noValidate className="flex flex-col gap-4">
        <Field label="Instances per server" hint={`From 1 to ${INSTANCES_MAX}.`}>
          {(control) => (
            <Input
              {...control}
              type="number"
              min={1}
              max={INSTANCES_MAX}
              autoFocus
              className="tabular"
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        {scale.error === null ? null : <ErrorNote>{readFailure(scale.error).message}</ErrorNote>}
      </form>
    </Dialog>
  );
}
