// Tables of single rows: percentiles of latency with the app's connections, and the emulated link.
import { Card, CardHeader } from '@fairlead/ui/card';
import { useFormats } from '@fairlead/ui/formats';
import { Cell, HeadCell, Table, TableHead } from '@fairlead/ui/table';
import type { BenchmarkDetail } from '../../api/types.ts';
import { phaseLabel, protocolLabel, type ResultRow, targetLabel } from './results.ts';

/** Percentiles of every row with a successful request. */
export function PercentileCard({ rows }: Pick<BenchmarkDetail, 'rows'>) {
  const { formatFixed, formatInteger } = useFormats();
  const measured = rows.filter(({ percentiles }) => percentiles.length > 0);
  const percents = measured[0]?.percentiles.map(({ percent }) => percent);
  if (percents === undefined) return null;
  const hasConnections = measured.some(({ appConnections }) => appConnections > 0);
  return (
    <Card>
      <CardHeader
        title="Percentiles"
        detail={`Latency in milliseconds${hasConnections ? ', and connections to the app at the end of the row' : ''}.`}
      />
      <Table scrollLabel="Percentiles">
        <TableHead>
          <HeadCell>Row</HeadCell>
          <HeadCell numeric>Concurrency</HeadCell>
          {percents.map((percent) => (
            <HeadCell key={percent} numeric>
              p{percent}
            </HeadCell>
          ))}
          {hasConnections ? <HeadCell numeric>Connections</HeadCell> : null}
        </TableHead>
        <tbody>
          {measured.map((row) => (
            <tr key={row.id} className="border-line border-b last:border-b-0">
              <Cell className="h-10 whitespace-nowrap">{nameOf(row)}</Cell>
              <Cell numeric>{row.concurrency}</Cell>
              {row.percentiles.map(({ percent, ms }) => (
                <Cell key={percent} numeric>
                  {formatFixed(ms, 2)}
                </Cell>
              ))}
              {hasConnections ? <Cell numeric>{formatInteger(row.appConnections)}</Cell> : null}
            </tr>
          ))}
        </tbody>
      </Table>
    </Card>
  );
}

/** Configured and measured condition of the emulated link in each row. */
export function LinkCard({ rows }: Pick<BenchmarkDetail, 'rows'>) {
  const { formatFixed, formatInteger } = useFormats();
  if (rows.every(({ link }) => link === null)) return null;
  return (
    <Card>
      <CardHeader title="Link" detail="Packets of both directions. The counters of the link and of the kernel agree." />
      <Table scrollLabel="Link">
        <TableHead>
          <HeadCell>Row</HeadCell>
          <HeadCell numeric>Configured loss %</HeadCell>
          <HeadCell numeric>Measured loss %</HeadCell>
          <HeadCell numeric>Packets</HeadCell>
          <HeadCell numeric>Lost</HeadCell>
          <HeadCell numeric>Queue drops</HeadCell>
          <HeadCell numeric>Configured delay ms</HeadCell>
          <HeadCell numeric>Round trip ms</HeadCell>
        </TableHead>
        <tbody>
          {rows.map((row) =>
            row.link === null ? null : (
              <tr key={row.id} className="border-line border-b last:border-b-0">
                <Cell className="h-10 whitespace-nowrap">{nameOf(row)}</Cell>
                <Cell numeric>{row.link.lossPercent}</Cell>
                <Cell numeric>
                  {row.link.packets === 0 ? '' : formatFixed((100 * row.link.lost) / row.link.packets, 2)}
                </Cell>
                <Cell numeric>{formatInteger(row.link.packets)}</Cell>
                <Cell numeric>{formatInteger(row.link.lost)}</Cell>
                <Cell numeric>{formatInteger(row.link.overflowed)}</Cell>
                <Cell numeric>{row.link.delayMs}</Cell>
                <Cell numeric>{formatFixed(row.link.roundTripMs, 2)}</Cell>
              </tr>
            ),
          )}
        </tbody>
      </Table>
    </Card>
  );
}

function nameOf({ round, target, protocol, phase }: ResultRow): string {
  const parts = [targetLabel[target], protocolLabel[protocol], `round ${round + 1}`];
  return [...parts, ...(phase === null ? [] : [phaseLabel[phase].toLowerCase()])].join(', ');
}
