// Servers of a distributed run: their clocks, and their share of the load.
import { Card, CardHeader } from '@fairlead/ui/card';
import { useFormats } from '@fairlead/ui/formats';
import { Cell, HeadCell, Table, TableHead } from '@fairlead/ui/table';
import type { BenchmarkDetail } from '../../api/types.ts';

/** Absent for a run of one server. */
export function RunServers({ servers, rows }: Pick<BenchmarkDetail, 'servers' | 'rows'>) {
  const { formatFixed, formatInteger, formatPercent } = useFormats();
  if (servers.length === 0) return null;
  const parts = rows.flatMap((row) => row.parts);
  const total = parts.reduce((sum, { requests, errors }) => sum + requests + errors, 0);
  const ms = (us: number | null, digits = 1) => (us === null ? '' : formatFixed(us / 1000, digits));
  return (
    <Card>
      <CardHeader
        title="Servers"
        detail="Clock offset: the server's clock minus that of the control plane, in the latest row. Start offset: the largest difference from the common start of a row."
      />
      <Table scrollLabel="Servers">
        <TableHead>
          <HeadCell>Server</HeadCell>
          <HeadCell>Role</HeadCell>
          <HeadCell numeric>Clock offset ms</HeadCell>
          <HeadCell numeric>Uncertainty ms</HeadCell>
          <HeadCell numeric>Start offset ms</HeadCell>
          <HeadCell numeric>Requests</HeadCell>
          <HeadCell numeric>Errors</HeadCell>
          <HeadCell numeric>Share of load</HeadCell>
          <HeadCell numeric>Saturated rows</HeadCell>
        </TableHead>
        <tbody>
          {servers.map(({ serverId, name, role, clockOffsetUs, clockUncertaintyUs }) => {
            const own = parts.filter((part) => part.serverId === serverId);
            const requests = own.reduce((sum, part) => sum + part.requests, 0);
            const errors = own.reduce((sum, part) => sum + part.errors, 0);
            const startOffset = own.length === 0 ? null : Math.max(...own.map((part) => Math.abs(part.startOffsetUs)));
            const isLoad = role === 'load';
            return (
              <tr key={serverId} className="border-line border-b last:border-b-0">
                <Cell className="h-10 whitespace-nowrap">{name}</Cell>
                <Cell>{isLoad ? 'Load' : 'App'}</Cell>
                <Cell numeric>{ms(clockOffsetUs)}</Cell>
                <Cell numeric>{ms(clockUncertaintyUs)}</Cell>
                <Cell numeric>{ms(startOffset)}</Cell>
                <Cell numeric>{isLoad ? formatInteger(requests) : ''}</Cell>
                <Cell numeric>{isLoad ? formatInteger(errors) : ''}</Cell>
                <Cell numeric>{isLoad && total > 0 ? formatPercent((requests + errors) / total) : ''}</Cell>
                <Cell numeric>
                  {isLoad ? formatInteger(own.filter(({ generatorSaturated }) => generatorSaturated).length) : ''}
                </Cell>
              </tr>
            );
          })}
        </tbody>
      </Table>
    </Card>
  );
}
