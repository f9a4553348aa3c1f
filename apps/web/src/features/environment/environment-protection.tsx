'use client';
// Protection of an environment: deployments wait for a second member. Lists the apps that it affects.
import { Button } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { StatePill } from '@fairlead/ui/state-pill';
import { useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { useAppInEnvironment } from '../../common/app/app-placement.ts';
import { useMe } from '../../common/organization/me.tsx';
import { PROTECTION, useUpdateProtection } from './protection.ts';

export function EnvironmentProtection({ slug, initial }: { readonly slug: string; readonly initial: AppDetail }) {
  const { can } = useMe();
  const { app } = useAppInEnvironment(slug, initial);
  const environments = useQuery(useTRPC().environment.list.queryOptions()).data?.items ?? [];
  const environment = environments.find(({ id }) => id === app.environmentId);
  const update = useUpdateProtection();
  if (environment === undefined) return null;
  const { id, name, projectName } = environment;
  const isProtected = environment.protected;
  return (
    <Card className="p-4">
      <div className="flex flex-wrap items-center gap-3">
        <h2 className="font-semibold">
          Environment {projectName} / {name}
        </h2>
        <StatePill tone={isProtected ? 'ok' : 'idle'}>{isProtected ? 'Protected' : 'Not protected'}</StatePill>
      </div>
      <p className="mt-1 text-pretty text-ink-soft">
        {isProtected
          ? `${PROTECTION} Deployments that already wait keep waiting when you turn this off.`
          : `Protected: ${PROTECTION} This applies to every app that runs there.`}
      </p>
      {can('environment.write', app) ? (
        <Button
          className="mt-4"
          variant={isProtected ? 'danger-outline' : 'plain'}
          pending={update.pending}
          onClick={() => update.run({ environmentId: id, protected: !isProtected })}
        >
          {isProtected ? `Stop protecting ${name}` : `Protect ${name}`}
        </Button>
      ) : null}
    </Card>
  );
}
