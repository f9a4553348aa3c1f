// Facts of a benchmark run: release, settings, agent and machine.
import { Card, CardHeader, Facts } from '@fairlead/ui/card';
import { useFormats } from '@fairlead/ui/formats';
import { shortHash } from '@fairlead/ui/lib/format';
import { WarnNote } from '@fairlead/ui/warn-note';
import type { BenchmarkDetail } from '../../api/types.ts';

export function RunFacts({ run }: { readonly run: BenchmarkDetail }) {
  const { formatBytes, plural } = useFormats();
  if (run.facts === null) return null;
  const { release, configNumber, agentVersion, machine } = run.facts;
  return (
    <Card>
      <CardHeader title={run.origin === null ? 'Measured' : 'Measured elsewhere'} />
      <Facts
        className="border-line border-t px-4 py-4 sm:grid-cols-2 lg:grid-cols-5"
        items={[
          ...(release === null
            ? []
            : [{ term: 'Release', value: `#${release.number} (${shortHash(release.commitHash)})` }]),
          ...(configNumber === null
            ? []
            : [{ term: 'Settings', value: configNumber === 0 ? 'Defaults' : `Version ${configNumber}` }]),
          { term: 'Agent', value: agentVersion },
          { term: 'Machine', value: `${plural(machine.cpuCount, 'core')}, ${formatBytes(machine.memoryBytes)}` },
          {
            term: 'System',
            value: [machine.os, machine.kernel, machine.arch].filter((part) => part !== '').join(', '),
          },
        ]}
      />
    </Card>
  );
}

/** Warns if a deployment ended during the run. */
export function ReleaseChangedNote({ facts }: Pick<BenchmarkDetail, 'facts'>) {
  if (!facts?.release || facts.endReleaseNumber === null || facts.endReleaseNumber === facts.release.number) {
    return null;
  }
  return (
    <WarnNote>
      Release #{facts.endReleaseNumber} went live during the run, which began with #{facts.release.number}. Its rows mix
      both: run it again.
    </WarnNote>
  );
}
