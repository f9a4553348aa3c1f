'use client';
// Instances of the app, as their servers last reported them.
import { Card, CardHeader } from '@fairlead/ui/card';
import { useFormats } from '@fairlead/ui/formats';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Cell, HeadCell, Row, Table, TableHead } from '@fairlead/ui/table';
import type { AppDetail } from '../../api/types.ts';
import { placementOf } from '../../common/app/app-placement.ts';
import { LookText } from '../../common/deployment/state-view.tsx';
import type { StateLook } from '../../common/deployment/states.ts';
import { RUNNING } from '../../common/figure/figures.ts';
import { InstanceActions } from './instance-actions.tsx';

type Instance = AppDetail['instances'][number];

const LOOK: Record<Instance['state'], StateLook> = {
  starting: { tone: 'busy', shape: 'half', label: 'Starting' },
  healthy: { tone: 'ok', shape: 'dot', label: 'Healthy' },
  unhealthy: { tone: 'warn', shape: 'bang', label: 'Unhealthy' },
  draining: { tone: 'idle', shape: 'half', label: 'Draining' },
  stopped: { tone: 'idle', shape: 'dash', label: 'Stopped' },
  crashed: { tone: 'bad', shape: 'cross', label: 'Crashed' },
  crash_looping: { tone: 'bad', shape: 'cross', label: 'Crash-looping' },
  asleep: { tone: 'idle', shape: 'ring', label: 'Asleep' },
};

/** Explanations of states with a label that does not explain itself. */
const MEANS: Partial<Record<Instance['state'], string>> = {
  crash_looping: 'It crashed repeatedly and is not restarted. Deploy or restart the app to try again.',
  asleep: 'Idle. The next request wakes it.',
};

export function Instances({ app }: { readonly app: AppDetail }) {
  const { plural } = useFormats();
  const { instances } = app;
  const servers = placementOf(app)?.servers ?? [];
  return (
    <Card>
      <CardHeader
        title="Instances"
        detail={`${plural(app.instancesWanted, 'copy', 'copies')} on each server`}
        action={<InstanceActions app={app} />}
      />
      {instances.length === 0 ? (
        <p className="px-4 pb-4 text-ink-faint">No running instances. Deploy the app to start one.</p>
      ) : (
        <Table>
          <TableHead>
            <HeadCell>State</HeadCell>
            <HeadCell className="max-sm:hidden">Process</HeadCell>
            <HeadCell className="max-md:hidden">Server</HeadCell>
            <HeadCell className="max-sm:hidden">Release</HeadCell>
            <HeadCell numeric>CPU</HeadCell>
            <HeadCell numeric>Memory</HeadCell>
            <HeadCell numeric>Restarts</HeadCell>
            <HeadCell numeric className="max-md:hidden">
              Started
            </HeadCell>
          </TableHead>
          <tbody>
            {instances.map((instance) => (
              <InstanceRow
                key={instance.id}
                instance={instance}
                release={releaseOf(instance, app)}
                cores={servers.find(({ serverId }) => serverId === instance.serverId)?.cpuCount ?? 0}
              />
            ))}
          </tbody>
        </Table>
      )}
    </Card>
  );
}

/** During a rollout, instances of two releases run. */
function releaseOf({ releaseId }: Instance, { liveRelease }: AppDetail): string {
  return releaseId === liveRelease?.id ? 'Live' : 'Other';
}

interface InstanceRowProps {
  readonly instance: Instance;
  readonly release: string;
  /** Cores of its server. */
  readonly cores: number;
}

function InstanceRow({ instance, release, cores }: InstanceRowProps) {
  const { formatBytes, formatCpu } = useFormats();
  const said = instance.detail === '' ? (MEANS[instance.state] ?? '') : instance.detail;
  // A stopped instance uses nothing. A running process uses some memory: zero means that it was not measured.
  const measured = RUNNING.has(instance.state) && instance.memoryBytes > 0;
  return (
    <Row>
      <Cell className="w-full max-w-0">
        <LookText look={LOOK[instance.state]} />
        <span className="block text-pretty text-ink-faint text-sm sm:hidden">
          {instance.process} on {instance.serverName}, {release.toLowerCase()} release
        </span>
        {said === '' ? null : (
          <span className="block text-pretty text-ink-soft text-sm max-sm:truncate" title={said}>
            {said}
          </span>
        )}
      </Cell>
      <Cell className="whitespace-nowrap font-mono text-sm max-sm:hidden">{instance.process}</Cell>
      <Cell className="whitespace-nowrap text-sm max-md:hidden">{instance.serverName}</Cell>
      <Cell className="text-sm max-sm:hidden">{release}</Cell>
      <Cell numeric>{measured ? formatCpu(instance.cpuMillis, cores) : '–'}</Cell>
      <Cell numeric>{measured ? formatBytes(instance.memoryBytes) : '–'}</Cell>
      <Cell numeric className={instance.restarts > 0 ? 'text-warn-text' : ''}>
        {instance.restarts}
      </Cell>
      <Cell numeric className="max-md:hidden">
        {instance.startedAt === null ? (
          '–'
        ) : (
          <RelativeTime at={instance.startedAt} className="font-sans text-ink-soft" />
        )}
      </Cell>
    </Row>
  );
}
