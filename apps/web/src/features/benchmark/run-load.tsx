// Load of a run beyond one GET: its requests, think time, stages and workers. Values of headers and bodies are not in a run.
import { Card, CardHeader, Facts } from '@fairlead/ui/card';
import type { BenchmarkDetail } from '../../api/types.ts';
import { stagesText } from './load-text.ts';

export function RunLoad({ load, requestsPerSecond }: BenchmarkDetail['plan']) {
  const { requests, thinkTimeMs, stages, workers } = load;
  const items = [
    ...requests.map((request, at) => ({ term: `Request ${at + 1}`, value: describeRequest(request) })),
    ...(thinkTimeMs === 0 ? [] : [{ term: 'Think time', value: `${thinkTimeMs} ms` }]),
    ...(stages.length === 0 ? [] : [{ term: 'Stages', value: `From ${requestsPerSecond}/s to ${stagesText(load)}` }]),
    ...(workers === undefined ? [] : [{ term: 'Workers', value: String(workers) }]),
  ];
  if (items.length === 0) return null;
  return (
    <Card>
      <CardHeader
        title="Load"
        detail="Each row sends the requests in the same order, in proportion to their weights."
      />
      <Facts className="border-line border-t px-4 py-4 sm:grid-cols-2" items={items} />
    </Card>
  );
}

function describeRequest({ method, path, weight, headers, body }: BenchmarkDetail['plan']['load']['requests'][number]) {
  const names = Object.keys(headers);
  return [
    `${weight} × ${method} ${path}`,
    ...(names.length === 0 ? [] : [`with ${names.join(', ')}`]),
    // A run stores the size of a body in its place.
    ...(body === '' ? [] : [`body ${body}`]),
  ].join(', ');
}
