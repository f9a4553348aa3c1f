// Servers of a distributed run: their share of the load, and their clocks.
import { Card, CardHeader } from '@fairlead/ui/card';
import { useFormats } from '@fairlead/ui/formats';
import { Cell, HeadCell, Table, TableHead } from '@fairlead/ui/table';
import type { BenchmarkDetail } from '../../api/types.ts';
import { loadSharesOf } from './load-shares.ts';
import { Saturated } from './saturated.tsx';

/** Absent for a run of one server. */
export function RunServers({ servers, rows }: Pick<BenchmarkDetail, 'servers' | 'rows'>) {
  const { formatFixed, formatInteger, formatPercent } = useFormats();
  if (servers.length === 0) return null;
  const ms = (us: number | null) => (us === null ? '' : formatFixed(us / 1000, 1));
  return (
    <Card>
      <CardHeader
        title="Servers"
        detail="p99 and generator cores: medians over the rows. Start offset: largest difference from the common start of a row. Clock offset: the server's clock minus the control plane's, in the latest row."
      />
      <Table scrollLabel="Servers">
        <TableHead>
          <HeadCell>Server</HeadCell>
          <HeadCell>Role</HeadCell>
          <HeadCell numeric>Share of load</HeadCell>
          <HeadCell numeric>Requests</HeadCell>
          <HeadCell numeric>Errors</HeadCell>
          <HeadCell numeric>p99 ms</HeadCell>
          <HeadCell numeric>Generator cores</HeadCell>
          <HeadCell numeric>Start offset ms</HeadCell>
          <HeadCell numeric>Clock offset ms</HeadCell>
          <HeadCell numeric>Uncertainty ms</HeadCell>
        </TableHead>
        <tbody>
          {loadSharesOf(servers, rows).map(({ serverId, name, role, load, ...clock }) => (
            <tr key={serverId} className="border-line border-b last:border-b-0">
              <Cell className="h-10 whitespace-nowrap">{name}</Cell>
              <Cell>{role === 'load' ? 'Load' : 'App'}</Cell>
              <Cell numeric>{load?.share == null ? '' : formatPercent(load.share)}</Cell>
              <Cell numeric>{load === null ? '' : formatInteger(load.requests)}</Cell>
              <Cell numeric className={load !== null && load.errors > 0 ? 'text-bad-text' : ''}>
                {load === null ? '' : formatInteger(load.errors)}
              </Cell>
              <Cell numeric>{load === null ? '' : formatFixed(load.p99Ms, 2)}</Cell>
              <Cell numeric>
                {load === null ? '' : formatFixed(load.generatorCores, 2)}
                {load === null ? null : <Saturated rows={load.saturated} of={load.rows} />}
              </Cell>
              <Cell numeric>{ms(clock.startOffsetUs)}</Cell>
              <Cell numeric>{ms(clock.clockOffsetUs)}</Cell>
              <Cell numeric>{ms(clock.clockUncertaintyUs)}</Cell>
            </tr>
          ))}
        </tbody>
      </Table>
    </Card>
  );
}
