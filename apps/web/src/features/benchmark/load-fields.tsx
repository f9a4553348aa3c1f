'use client';
// Fields of a plan's load: weighted requests, think time and stages, with import of a HAR file or a list of URLs.
import type { BenchmarkLoad } from '@fairlead/core/benchmark/schema';
import { Button } from '@fairlead/ui/button';
import { Field, Input, Textarea } from '@fairlead/ui/input';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { ChoiceField, TextField } from '../../common/form/fields.tsx';
import { Line, useRows } from '../../common/form/list-card.tsx';
import {
  emptyCall,
  emptyRequest,
  emptyStage,
  loadOf,
  methodOptions,
  type RequestDraft,
  requestDraftOf,
  requestFaults,
  type StageDraft,
  stageDraftOf,
  stageFaults,
  takesBody,
  thinkTimeFault,
  workersFault,
} from './load-draft.ts';
import type { ImportResult } from './load-import.ts';

const REQUESTS_MAX = 50;
const STAGES_MAX = 10;
const HAR_BYTES_MAX = 20 * 1024 * 1024;

export interface LoadFieldsProps {
  readonly first: BenchmarkLoad;
  /** Hosts of the app: requests to other hosts are not imported. */
  readonly hosts: readonly string[];
  /** True: each request is a gRPC call, and its body a message in base64. */
  readonly isGrpc: boolean;
  /** Errors of the server by field, such as `requests.0`; empty: of the load. */
  readonly errorOf: (field: string) => string | undefined;
  /** `load` is null while a field is invalid. */
  readonly onChange: (load: BenchmarkLoad | null, hasRequests: boolean) => void;
}

export function LoadFields({ first, hosts, isGrpc, errorOf, onChange }: LoadFieldsProps) {
  const [requests, setRequests] = useState(() => first.requests.map(requestDraftOf));
  const [stages, setStages] = useState(() => first.stages.map(stageDraftOf));
  const [thinkTime, setThinkTime] = useState(first.thinkTimeMs === 0 ? '' : String(first.thinkTimeMs));
  const [workers, setWorkers] = useState(first.workers === undefined ? '' : String(first.workers));
  // Key of the list: an import replaces its fields.
  const [list, setList] = useState(0);
  const changeRequests = (next: RequestDraft[]) => {
    setRequests(next);
    onChange(loadOf(next, thinkTime, stages, workers), next.length > 0);
  };
  const changeStages = (next: StageDraft[]) => {
    setStages(next);
    onChange(loadOf(requests, thinkTime, next, workers), requests.length > 0);
  };
  const adopt = (imported: BenchmarkLoad['requests']) => {
    changeRequests(imported.map(requestDraftOf));
    setList((count) => count + 1);
  };
  return (
    <>
      <fieldset className="flex flex-col gap-3">
        <legend className="mb-1.5 font-medium">Requests</legend>
        <RequestRows key={list} first={requests} isGrpc={isGrpc} errorOf={errorOf} onChange={changeRequests} />
        <ImportRequests hosts={hosts} onImport={adopt} />
      </fieldset>
      <fieldset className="flex flex-col gap-3">
        <legend className="mb-1.5 font-medium">Load</legend>
        <TextField
          label="Think time (ms)"
          hint="Pause of a client between a response and its next request, in a closed loop. Default: 0."
          error={thinkTimeFault(thinkTime)}
          value={thinkTime}
          onValue={(text) => {
            setThinkTime(text);
            onChange(loadOf(requests, text, stages, workers), requests.length > 0);
          }}
        />
        <TextField
          label="Workers"
          hint="Threads that generate load. Default: half of the server’s cores, or all cores of load servers."
          error={workersFault(workers)}
          value={workers}
          onValue={(text) => {
            setWorkers(text);
            onChange(loadOf(requests, thinkTime, stages, text), requests.length > 0);
          }}
        />
        <StageRows first={stages} errorOf={errorOf} onChange={changeStages} />
        {errorOf('') === undefined ? null : (
          <p data-invalid="" tabIndex={-1} role="alert" className="text-bad-text text-sm">
            {errorOf('')}
          </p>
        )}
      </fieldset>
    </>
  );
}

interface RowsProps<Draft> {
  readonly first: readonly Draft[];
  readonly errorOf: LoadFieldsProps['errorOf'];
  readonly onChange: (drafts: Draft[]) => void;
}

function RequestRows({ first, isGrpc, errorOf, onChange }: RowsProps<RequestDraft> & { readonly isGrpc: boolean }) {
  const { rows, add, remove, change } = useRows<RequestDraft>(first, onChange);
  return (
    <>
      {rows.length === 0 ? (
        <p className="text-ink-faint text-sm">
          {isGrpc ? 'Default: calls of the path with an empty message.' : 'Default: one GET of the path.'}
        </p>
      ) : null}
      {rows.map(({ key, item }, at) => {
        const faults = requestFaults(item);
        return (
          <Line
            key={key}
            remove={`Remove the request ${item.method} ${item.path}`}
            onRemove={() => remove(key)}
            columns="grid-cols-2"
          >
            <ChoiceField
              label="Method"
              value={item.method}
              options={methodOptions}
              onValue={(method) => change(key, { ...item, method })}
            />
            <TextField
              label="Weight"
              error={faults.weight}
              value={item.weight}
              onValue={(weight) => change(key, { ...item, weight })}
            />
            <TextField
              label="Request path"
              className="col-span-2"
              error={faults.path ?? errorOf(`requests.${at}`)}
              value={item.path}
              onValue={(path) => change(key, { ...item, path })}
            />
            <Lines
              label="Headers"
              hint="One per line, such as Accept: text/html. No credentials: a plan is stored and shared."
              error={faults.headers}
              value={item.headers}
              onValue={(headers) => change(key, { ...item, headers })}
            />
            {takesBody(item.method) ? (
              <Lines
                label={isGrpc ? 'Message' : 'Body'}
                hint={isGrpc ? 'In base64.' : undefined}
                value={item.body}
                onValue={(body) => change(key, { ...item, body })}
              />
            ) : null}
          </Line>
        );
      })}
      {rows.length >= REQUESTS_MAX ? null : (
        <AddButton label="Add request" onAdd={() => add(isGrpc ? emptyCall : emptyRequest)} />
      )}
    </>
  );
}

function StageRows({ first, errorOf, onChange }: RowsProps<StageDraft>) {
  const { rows, add, remove, change } = useRows<StageDraft>(first, onChange);
  return (
    <>
      {rows.map(({ key, item }, at) => {
        const faults = stageFaults(item);
        return (
          <Line key={key} remove={`Remove stage ${at + 1}`} onRemove={() => remove(key)} columns="grid-cols-2">
            <TextField
              label={`Stage ${at + 1} (s)`}
              error={faults.seconds ?? errorOf(`stages.${at}`)}
              value={item.seconds}
              onValue={(seconds) => change(key, { ...item, seconds })}
            />
            <TextField
              label="Final requests/s"
              error={faults.rate}
              value={item.rate}
              onValue={(rate) => change(key, { ...item, rate })}
            />
          </Line>
        );
      })}
      {rows.length >= STAGES_MAX ? null : <AddButton label="Add stage" onAdd={() => add(emptyStage)} />}
    </>
  );
}

function AddButton({ label, onAdd }: { readonly label: string; readonly onAdd: () => void }) {
  return (
    <Button className="self-start" icon={<Plus size={15} aria-hidden="true" />} onClick={onAdd}>
      {label}
    </Button>
  );
}

interface LinesProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly error?: string | undefined;
  readonly value: string;
  readonly onValue: (text: string) => void;
}

function Lines({ label, hint, error, value, onValue }: LinesProps) {
  return (
    <Field label={label} hint={hint} error={error} className="col-span-2">
      {(control) => (
        <Textarea
          {...control}
          mono
          rows={2}
          spellCheck={false}
          value={value}
          onChange={(event) => onValue(event.target.value)}
        />
      )}
    </Field>
  );
}

interface ImportRequestsProps {
  readonly hosts: readonly string[];
  readonly onImport: (requests: BenchmarkLoad['requests']) => void;
}

/** Replaces the requests with those of a HAR file or of a list of URLs. */
function ImportRequests({ hosts, onImport }: ImportRequestsProps) {
  const [urls, setUrls] = useState<string | null>(null);
  const [result, setResult] = useState<ImportResult | null>(null);
  const take = (next: ImportResult) => {
    setResult(next);
    if ('problem' in next || next.requests.length === 0) return;
    onImport([...next.requests]);
    setUrls(null);
  };
  const readHar = async (file: File) => {
    if (file.size > HAR_BYTES_MAX) return setResult({ problem: 'The file is larger than 20 MiB.' });
    const { importHar } = await import('./load-import.ts');
    take(importHar(await file.text(), hosts));
  };
  const readUrls = async (text: string) => {
    const { importUrls } = await import('./load-import.ts');
    take(importUrls(text, hosts));
  };
  return (
    <div className="flex flex-col gap-3">
      <Field
        label="Import HAR file"
        hint="Replaces the requests. Keeps only requests to the app’s own hosts, without cookies and credentials."
      >
        {(control) => (
          <Input
            {...control}
            type="file"
            accept=".har,application/json"
            onChange={({ target }) => {
              const file = target.files?.[0];
              if (file !== undefined) void readHar(file);
            }}
          />
        )}
      </Field>
      {urls === null ? (
        <Button className="self-start" onClick={() => setUrls('')}>
          Paste URLs
        </Button>
      ) : (
        <>
          <Lines
            label="URLs"
            hint="One per line, such as /cart, https://shop.example.com/ or POST /orders 3 with a weight."
            value={urls}
            onValue={setUrls}
          />
          <Button className="self-start" disabled={urls.trim() === ''} onClick={() => void readUrls(urls)}>
            Import URLs
          </Button>
        </>
      )}
      {/* Screen readers announce its changes. */}
      <p role="status" className="text-sm text-ink-faint empty:hidden">
        {result === null ? null : importText(result)}
      </p>
    </div>
  );
}

function importText(result: ImportResult): string {
  if ('problem' in result) return result.problem;
  const { otherHosts, credentials, withCredentials, unsupported } = result.dropped;
  const parts = [
    [otherHosts, 'of other hosts'],
    [withCredentials, 'with credentials in the query or body'],
    [unsupported, 'that a plan can’t hold'],
  ] as const;
  const left = parts.flatMap(([count, what]) => (count === 0 ? [] : [`${count} ${what}`]));
  return [
    `Distinct requests imported: ${result.requests.length}.`,
    ...(left.length === 0 ? [] : [`Left out: ${left.join(', ')}.`]),
    ...(credentials === 0 ? [] : [`Cookies and credential headers dropped: ${credentials}.`]),
  ].join(' ');
}
