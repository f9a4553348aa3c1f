'use client';
// Removes an app from one environment: lists what stops, and what stays for its return.
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { Fragment } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { placementOf } from '../../common/app/app-placement.ts';
import { useMe } from '../../common/organization/me.tsx';
import { RemovalCard } from './removal-card.tsx';

export function RemoveFromEnvironmentCard({ app }: { readonly app: AppDetail }) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const toast = useToast();
  const queryClient = useQueryClient();
  const detach = useMutation(trpc.app.detachEnvironment.mutationOptions());
  const { id, name, slug, environmentId, environmentName } = app;
  return (
    <RemovalCard
      heading={`Remove from ${environmentName}`}
      summary={`It stops there and loses its domains there. Other environments are not affected. History, settings and secrets of ${environmentName} are kept.`}
      button={`Remove ${name} from ${environmentName}`}
      name={name}
      title={`Remove ${name} from ${environmentName}`}
      action="Remove"
      consequences={<RemovalEffects app={app} />}
      pending={detach.isPending}
      error={detach.error}
      onConfirm={(confirmName) =>
        detach.mutate(
          { appId: id, environmentId, confirmName },
          {
            onSuccess: () => {
              toast({ title: `${name} removed from ${environmentName}` });
              void queryClient.invalidateQueries(trpc.app.pathFilter());
              void queryClient.invalidateQueries(trpc.environment.pathFilter());
              router.push(paths.app(slug));
            },
          },
        )
      }
    />
  );
}

function RemovalEffects({ app }: { readonly app: AppDetail }) {
  const servers = placementOf(app)?.servers.map(({ serverName }) => serverName) ?? [app.serverName];
  const routes = app.domains.map(({ host, pathPrefix }) => (pathPrefix === '/' ? host : host + pathPrefix));
  return (
    <ul className="list-disc space-y-1 pl-5">
      <li>It stops immediately on {list.format(servers)}.</li>
      {routes.length === 0 ? null : (
        <li>
          <Hosts names={routes} /> {routes.length === 1 ? 'is detached' : 'are detached'} from this app.
        </li>
      )}
      <li>Waiting deployments and running benchmarks there are cancelled.</li>
      <li>Its deployments, releases, settings and secrets of {app.environmentName} are kept.</li>
      <li>Its volumes stay on their servers until they are deleted under Settings → Environments.</li>
    </ul>
  );
}

const list = new Intl.ListFormat('en', { type: 'conjunction' });

function Hosts({ names }: { readonly names: readonly string[] }) {
  return list.formatToParts(names).map(({ type, value }, index) =>
    type === 'element' ? (
      <span key={value} className="wrap-anywhere font-mono text-sm">
        {value}
      </span>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the words between names are told apart by nothing else
      <Fragment key={index}>{value}</Fragment>
    ),
  );
}
