'use client';
// Facts about a server: what runs on it, and what its agent reports about the machine and itself.
import { Card, CardHeader, Facts } from '@fairlead/ui/card';
import { useFormats } from '@fairlead/ui/formats';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Badge, StateText } from '@fairlead/ui/state-pill';
import type { ServerDetail } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { ServerAgent, shortDigest } from './server-agent.tsx';

export function ServerFacts({ server }: { readonly server: ServerDetail }) {
  const { formatBytes } = useFormats();
  const { paths } = useMe();
  const { host } = server;
  return (
    <div className="grid items-start gap-6 lg:grid-cols-[20rem_minmax(0,1fr)]">
      <Card>
        <CardHeader title="Apps" />
        {server.apps.length === 0 ? (
          <p className="px-4 pb-4 text-ink-faint">No app runs here yet.</p>
        ) : (
          <ul>
            {server.apps.map((app) => (
              <li key={`${app.id} ${app.environmentName}`} className="border-line border-t">
                <HoverLink
                  href={paths.app(app.slug, app.environmentId)}
                  className="flex min-h-11 items-center justify-between gap-3 px-4 hover:bg-hover focus-visible:-outline-offset-2"
                >
                  <span className="truncate font-medium">{app.name}</span>
                  <span className="shrink-0 text-sm text-ink-faint">{app.environmentName}</span>
                </HoverLink>
              </li>
            ))}
          </ul>
        )}
      </Card>
      <Card>
        <CardHeader title="Agent" />
        <ServerAgent server={server} />
        <Facts
          className="px-4 py-4 sm:grid-cols-2 xl:grid-cols-3"
          items={[
            {
              term: 'Version',
              value: (
                <>
                  <Mono text={server.agentVersion} />
                  {server.agentDigest === null ? null : (
                    <span className="ml-2 font-mono text-ink-faint text-xs" title={server.agentDigest}>
                      {shortDigest(server.agentDigest)}
                    </span>
                  )}
                </>
              ),
            },
            {
              term: 'Desired state',
              value: (
                <StateText tone={server.inSync ? 'ok' : 'busy'}>
                  {server.inSync ? 'Up to date' : `${server.appliedVersion} of ${server.desiredVersion}`}
                </StateText>
              ),
            },
            {
              term: 'Last seen',
              value: server.lastSeenAt === null ? 'Never' : <RelativeTime at={server.lastSeenAt} />,
            },
            { term: 'App firewall', value: <AppFirewall network={server.network} /> },
            { term: 'Host name', value: <Mono text={host.hostname} /> },
            { term: 'System', value: host.os || '–' },
            { term: 'Kernel', value: <Mono text={host.kernel} /> },
            { term: 'Processor', value: host.cpuCount === 0 ? '–' : `${host.cpuCount} cores, ${host.arch}` },
            { term: 'Memory', value: host.memoryBytes === 0 ? '–' : formatBytes(host.memoryBytes) },
            { term: 'Clock', value: `${server.clockOffsetMs} ms off` },
          ]}
        />
        {server.capabilities.length === 0 ? null : (
          <div className="border-line border-t px-4 py-3">
            <h3 className="text-ink-faint text-sm">Capabilities</h3>
            <ul className="mt-1.5 flex flex-wrap gap-1.5">
              {server.capabilities.map((capability) => (
                <li key={capability}>
                  <Badge>{capability}</Badge>
                </li>
              ))}
            </ul>
          </div>
        )}
      </Card>
    </div>
  );
}

function AppFirewall({ network }: { readonly network: ServerDetail['network'] }) {
  if (network === null) return 'None: apps share the network';
  if (network.warnings.length > 0) return <StateText tone="warn">Needs attention</StateText>;
  if (network.repair === null) return 'In place';
  return (
    <>
      {network.repair.text} <RelativeTime at={new Date(network.repair.unixMs)} />
    </>
  );
}

function Mono({ text }: { readonly text: string }) {
  return text === '' ? '–' : <span className="font-mono text-sm">{text}</span>;
}
