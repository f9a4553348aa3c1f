import { AppRouterContext } from 'next/dist/shared/lib/app-router-context.shared-runtime';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import type { Me, ServerDetail } from '../../api/types.ts';
import { diskOf } from '../../common/figure/figures.ts';
import { MeProvider } from '../../common/organization/me.tsx';
import { ServerCard } from '../../common/server/server-card.tsx';
import { ServerDisk } from './server-disk.tsx';

const GIB = 1024 ** 3;

/** One answer of the API about a server. */
const server = {
  id: 'srv_1',
  name: 'local',
  state: 'online',
  appCount: 1,
  host: { cpuCount: 2, memoryBytes: 8 * GIB, os: 'Debian', diskBytes: 252 * GIB },
  cpuMillis: 2020,
  memoryUsedBytes: 2 * GIB,
  memoryTotalBytes: 8 * GIB,
  diskUsedBytes: 21 * GIB,
  diskTotalBytes: 84 * GIB,
  drainedAt: null,
  diskWarning: null,
  offeredAgent: null,
  upgrade: null,
} as unknown as ServerDetail;

// Sizes that the agent measured last of its own files. Its free and total bytes may be older than the sample.
const usage = {
  freeBytes: 70 * GIB,
  totalBytes: 252 * GIB,
  artifactsBytes: 5 * GIB,
  cachesBytes: 4 * GIB,
  imagesBytes: 0,
  logsBytes: GIB,
  volumesBytes: 0,
  fullUnixMs: 0,
} as unknown as NonNullable<ServerDetail['disk']>;

function textOf(html: string): string {
  return html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
}

test('gauge, card and chart of a disk agree: used and free add up to the whole', () => {
  const disk = diskOf(server.diskUsedBytes, server.diskTotalBytes);
  if (disk === null) throw new Error('the sample has a disk');
  expect(disk.usedBytes + disk.freeBytes).toBe(disk.totalBytes);
  const card = textOf(renderToStaticMarkup(<ServerDisk disk={disk} usage={usage} />));
  expect(card).toContain('21 GiB used, 63 GiB free of 84 GiB');
  // The parts add up to what is used.
  expect(card).toContain('Artifacts 5 GiB Build caches 4 GiB Images 0 B App logs 1 GiB Volumes 0 B Other 11 GiB');

  const organization = { slug: 'acme', permissions: [], granted: [] } as unknown as Me['organizations'][number];
  const me = { user: {}, organizations: [organization] } as unknown as Me;
  const cardOf = (shown: ServerDetail, sample?: Parameters<typeof ServerCard>[0]['sample']) =>
    textOf(
      renderToStaticMarkup(
        <AppRouterContext value={{} as never}>
          <MeProvider me={me} organization={organization}>
            <ServerCard server={shown} sample={sample} level={2} />
          </MeProvider>
        </AppRouterContext>,
      ),
    );
  const gauges = (state: ServerDetail['state'], sample?: Parameters<typeof cardOf>[1]) =>
    cardOf({ ...server, state }, sample);
  expect(gauges('online')).toContain('CPU 100 % Memory 25 % Disk 25 %');
  // A server that is gone has no current sample.
  const sample = { ...server, cpuMillis: 1000 } as unknown as Parameters<typeof ServerCard>[0]['sample'];
  expect(gauges('online', sample)).toContain('CPU 50 %');
  expect(gauges('offline', sample)).toContain('CPU 100 %');
  // Only the agent's warning counts, as on the overview.
  expect(cardOf({ ...server, diskUsedBytes: 83 * GIB })).not.toContain('Low disk space');
  expect(cardOf({ ...server, diskWarning: 'Only 1.0 GiB is free.' })).toContain('Low disk space');
});

test('a disk without a size is unknown', () => {
  expect(diskOf(null, 5)).toBeNull();
  expect(diskOf(5, null)).toBeNull();
  expect(diskOf(5, 0)).toBeNull();
});
