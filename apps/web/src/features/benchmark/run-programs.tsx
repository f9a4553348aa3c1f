// Programs of a lab's run with their configurations, and deployments that a scenario started.
import { Card, CardHeader } from '@fairlead/ui/card';
import { useFormats } from '@fairlead/ui/formats';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { WarnNote } from '@fairlead/ui/warn-note';
import type { BenchmarkDetail } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';

import { noiseText, shareOfRows } from './result-text.ts';
import { targetLabel } from './results.ts';

export function RunPrograms({ programs }: Pick<BenchmarkDetail, 'programs'>) {
  if (programs.length === 0) return null;
  return (
    <Card>
      <CardHeader title="Programs" detail="Placeholders such as @HTTPS_PORT@ stand for ports and folders of the run." />
      <ul className="border-line border-t">
        {programs.map(({ target, version, configuration, skipped }) => (
          <li key={target} className="border-line border-b px-4 py-2.5 last:border-b-0">
            <span className="flex flex-wrap justify-between gap-x-4">
              <span className="font-medium">{targetLabel[target]}</span>
              <span className={skipped === null ? 'text-ink-soft' : 'text-ink-faint'}>
                {skipped === null ? version : `Not measured: ${skipped}`}
              </span>
            </span>
            {configuration === '' ? null : (
              <details className="mt-1">
                <summary className="cursor-pointer text-ink-soft text-sm">Configuration</summary>
                <pre className="mt-2 max-h-80 overflow-auto rounded-mark bg-sunken p-3 font-mono text-xs">
                  {configuration}
                </pre>
              </details>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

export function RunEvents({ events }: Pick<BenchmarkDetail, 'events'>) {
  const { paths } = useMe();
  if (events.length === 0) return null;
  return (
    <Card>
      <CardHeader title="Deployments" detail="Started by the scenario, one for each round." />
      <ol className="border-line border-t">
        {events.map(({ at, deploymentId, problem }) => (
          <li
            key={at}
            className="flex flex-wrap justify-between gap-x-4 border-line border-b px-4 py-2.5 last:border-b-0"
          >
            {deploymentId === null ? (
              <span className="text-bad-text">{problem}</span>
            ) : (
              <HoverLink href={paths.deployment(deploymentId)} className="rounded-mark hover:underline">
                {deploymentId}
              </HoverLink>
            )}
            <RelativeTime at={new Date(at)} className="text-ink-faint" />
          </li>
        ))}
      </ol>
    </Card>
  );
}

/** Warns where the load generator, not the target, limited the result. */
export function GeneratorNote({ rows }: Pick<BenchmarkDetail, 'rows'>) {
  const saturated = rows.filter(({ generatorSaturated }) => generatorSaturated);
  if (saturated.length === 0) return null;
  const targets = [...new Set(saturated.map(({ target }) => targetLabel[target]))];
  const parts = saturated.flatMap((row) => row.parts.filter(({ generatorSaturated }) => generatorSaturated));
  const servers = [...new Set(parts.map(({ name }) => name))];
  return (
    <WarnNote>
      The load generator {servers.length === 0 ? '' : `of ${servers.join(', ')} `}was saturated in{' '}
      {shareOfRows(saturated.length, rows.length)} ({targets.join(', ')}): their targets could have done more. Compare
      CPU per request, {servers.length === 0 ? 'or lower the load' : 'lower the load, or add load servers'}.
    </WarnNote>
  );
}

/** Warns if other processes or the hypervisor took part of the machine's CPU. */
export function NoiseNote({ rows }: Pick<BenchmarkDetail, 'rows'>) {
  const text = noiseText(rows, useFormats());
  return text === null ? null : <WarnNote>{text}</WarnNote>;
}
