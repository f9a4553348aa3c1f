'use client';
// Whether pushes and other programs may deploy by themselves. Done at once, and undone the same way.
import { Button } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { StatePill } from '@fairlead/ui/state-pill';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, Config } from '../../api/types.ts';
import { useMe } from '../../common/me.tsx';
import { useAction } from '../../common/use-action.ts';

export function PauseCard({ app, config }: { readonly app: AppDetail; readonly config: Config }) {
  const { can } = useMe();
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const pause = useAction(useMutation(trpc.deployment.pause.mutationOptions()), "It wasn't changed", () => {
    void queryClient.invalidateQueries(trpc.config.pathFilter());
    void queryClient.invalidateQueries(trpc.app.pathFilter());
  });
  const { deploysPaused: paused, environmentId, environmentName } = config;
  return (
    <Card className="p-4">
      <div className="flex flex-wrap items-center gap-3">
        <h2 className="font-semibold">Automatic deployments to {environmentName}</h2>
        <StatePill tone={paused ? 'warn' : 'ok'}>{paused ? 'Paused' : 'On'}</StatePill>
      </div>
      <p className="mt-1 text-pretty text-ink-soft">
        {paused
          ? 'Only people deploy. What a push would have deployed waits for somebody to press Deploy.'
          : 'A push to its branch deploys it by itself. Paused, only people deploy.'}
      </p>
      {can('deployment.write', { projectId: app.projectId, environmentId }) ? (
        <Button
          className="mt-4"
          pending={pause.pending}
          onClick={() => pause.run({ appId: app.id, environmentId, paused: !paused })}
        >
          {paused ? 'Resume them' : 'Pause them'}
        </Button>
      ) : null}
    </Card>
  );
}
