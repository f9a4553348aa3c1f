'use client';
import type { ServerSample } from '@fairlead/contract/live';
import { type Formats, useFormats } from '@fairlead/ui/formats';
// Card of a server with small gauges that follow the live stream.
import { Meter } from '@fairlead/ui/meter';
import { StateText, type Tone } from '@fairlead/ui/state-pill';
import type { ServerSummary } from '../../api/types.ts';
import { LookText } from '../deployment/state-view.tsx';
import { serverLook } from '../deployment/states.ts';
import { type Disk, diskOf } from '../figure/figures.ts';
import { useMe } from '../organization/me.tsx';
import { HoverLink } from '../page/hover-link.tsx';

export interface ServerCardProps {
  readonly server: ServerSummary;
  readonly sample: ServerSample | undefined;
  /** Heading level of the card. */
  readonly level: 2 | 3;
}

export function ServerCard({ server, sample: newest, level }: ServerCardProps) {
  // The last sample of a server that is gone says nothing about now; the API has one for a few minutes only.
  const sample = server.state === 'offline' ? undefined : newest;
  const Heading = level === 2 ? 'h2' : 'h3';
  const { paths } = useMe();
  const formats = useFormats();
  const gauges = gaugesOf(server, sample, formats);
  return (
    <article className="relative min-w-0 rounded-card border border-line bg-surface p-4 transition-colors duration-120 hover:border-line-strong has-[a:focus-visible]:outline-2 has-[a:focus-visible]:outline-accent-text">
      <div className="flex items-center gap-2">
        <Heading className="min-w-0 truncate font-semibold">
          <HoverLink
            href={paths.server(server.id)}
            className="after:absolute after:inset-0 after:content-[''] focus-visible:outline-none"
          >
            {server.name}
          </HoverLink>
        </Heading>
        <span className="ml-auto">
          <LookText look={serverLook[server.state]} />
        </span>
      </div>
      <p className="mt-0.5 truncate text-sm text-ink-faint">{describe(server, formats)}</p>
      {server.diskWarning === null ? null : <Mark tone="warn">Low disk space</Mark>}
      {server.drainedAt === null ? null : <Mark tone="warn">Drained</Mark>}
      <AgentMark server={server} />
      <div className="mt-4 grid grid-cols-3 gap-4">
        {gauges.map((gauge) => (
          <Meter key={gauge.label} label={gauge.label} share={gauge.share} text={gauge.text} />
        ))}
      </div>
    </article>
  );
}

function AgentMark({ server: { offeredAgent, upgrade } }: { readonly server: ServerSummary }) {
  if (upgrade?.state === 'running') return <Mark tone="busy">Agent upgrading</Mark>;
  if (offeredAgent === null) return null;
  if (upgrade?.state === 'failed') return <Mark tone="bad">Agent upgrade failed</Mark>;
  return <Mark tone="idle">Agent upgrade available</Mark>;
}

function Mark({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return (
    <p className="mt-1">
      <StateText tone={tone}>{children}</StateText>
    </p>
  );
}

function describe(server: ServerSummary, { formatBytes, plural }: Formats): string {
  const { host } = server;
  const size = host.cpuCount > 0 ? `${host.cpuCount} cores · ${formatBytes(host.memoryBytes)}` : '';
  return [plural(server.appCount, 'app'), size, host.os].filter((part) => part !== '').join(' · ');
}

interface Gauge {
  readonly label: string;
  readonly share: number | null;
  readonly text: string;
}

function diskOfServer(server: ServerSummary, sample: ServerSample | undefined): Disk | null {
  return diskOf(sample?.diskUsedBytes ?? server.diskUsedBytes, sample?.diskTotalBytes ?? server.diskTotalBytes);
}

/** Returns the gauges of CPU, memory and disk; the live sample wins over the stored one. */
export function gaugesOf(
  server: ServerSummary,
  sample: ServerSample | undefined,
  { formatBytes, formatCpu }: Formats,
): Gauge[] {
  const disk = diskOfServer(server, sample);
  const cpu = sample?.cpuMillis ?? server.cpuMillis;
  const memory = sample?.memoryUsedBytes ?? server.memoryUsedBytes;
  const memoryTotal = sample?.memoryTotalBytes ?? server.memoryTotalBytes;
  return [
    gauge('CPU', shareOf(cpu, server.host.cpuCount * 1000), formatCpu(cpu, server.host.cpuCount)),
    gauge('Memory', shareOf(memory, memoryTotal), formatBytes(memory)),
    gauge('Disk', disk?.share ?? null, formatBytes(disk?.usedBytes)),
  ];
}

/** Shows a share of the total; without a total, the bare amount. */
function gauge(label: string, share: number | null, amount: string): Gauge {
  return { label, share, text: share === null ? amount : `${Math.round(share * 100)} %` };
}

function shareOf(part: number | null, whole: number | null): number | null {
  // Caps the share at 1: a sample that took longer than its second counts a little more than there is.
  return part === null || whole === null || whole <= 0 ? null : Math.min(1, part / whole);
}
