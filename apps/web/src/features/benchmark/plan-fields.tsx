'use client';
// Fields of a plan: upstream, scenario, load, targets, protocols and thresholds.
import { LAB_SERVERS, LIVE_CONCURRENCY_MAX, plainPlan } from '@fairlead/core/benchmark/plan';
import { Checkbox, Field, Input, Select } from '@fairlead/ui/input';
import dynamic from 'next/dynamic';
import { useId } from 'react';
import { ALL_METRICS } from '../../common/threshold/threshold-draft.ts';
import {
  choicesWith,
  draftFaults,
  type PlanDraft,
  scenariosOf,
  targetChoices,
  withProtocols,
  withScenario,
  withServer,
  withUpstream,
} from './plan-draft.ts';
import {
  labServerLabel,
  parseConcurrency,
  protocolLabel,
  scenarioHint,
  scenarioLabel,
  targetLabel,
} from './results.ts';

const LoadFields = dynamic(() => import('./load-fields.tsx').then((module) => module.LoadFields), { ssr: false });
const ThresholdFields = dynamic(
  () => import('../../common/threshold/threshold-fields.tsx').then((module) => module.ThresholdFields),
  { ssr: false },
);

export interface PlanFieldsProps {
  readonly draft: PlanDraft;
  readonly onDraft: (draft: PlanDraft) => void;
  /** Hosts of the app. */
  readonly hosts: readonly string[];
  /** True if load servers send the requests. */
  readonly isDistributed?: boolean;
  /** Errors by field of the plan, such as `concurrency`. */
  readonly errorOf: (field: string) => string | undefined;
  /** Attempts to send the form. */
  readonly attempt: number;
}

const PROTOCOLS = ['http1', 'http2', 'http3', 'grpc'] as const;
const LAB_PROTOCOLS = ['http1', 'http1-cleartext', 'http2', 'http3', 'grpc'] as const;
const CALL_HINT =
  'Service and method, such as /shop.Cart/Get. Default: an empty message. Add a request to send another one.';
const CONCURRENCY_MAX = 20_000;
const SECONDS = [1, 2, 5, 10, 30];
const ROUNDS = [1, 3, 5, 9];

export function PlanFields({ draft, hosts, isDistributed = false, onDraft, errorOf, attempt }: PlanFieldsProps) {
  const isLab = draft.upstream === 'lab';
  const copies = isLab && draft.server === 'release';
  const targets = targetChoices(draft, isDistributed);
  const isGrpc = draft.protocols.includes('grpc');
  const { hasRequests } = draft;
  const faults = draftFaults(draft);
  const delayError = errorOf('link.delayMs');
  const responseDelayError = errorOf('labApp.responseDelayMs');
  return (
    <>
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <Field
          label="Upstream"
          hint={
            isLab
              ? 'Proxies that the agent starts in front of its own small app.'
              : 'The app behind its server’s proxy.'
          }
        >
          {(control) => (
            <Select
              {...control}
              value={draft.upstream}
              onChange={({ target }) => onDraft(withUpstream(draft, target.value === 'lab' ? 'lab' : 'live'))}
            >
              <option value="live">This app</option>
              <option value="lab">Lab</option>
            </Select>
          )}
        </Field>
        <Field label="Scenario" hint={scenarioHint[draft.scenario]} error={errorOf('scenario')}>
          {(control) => (
            <Select
              {...control}
              value={draft.scenario}
              onChange={({ target }) => {
                const scenario = scenariosOf[draft.upstream].find((each) => each === target.value);
                if (scenario !== undefined) onDraft(withScenario(draft, scenario));
              }}
            >
              {scenariosOf[draft.upstream].map((each) => (
                <option key={each} value={each}>
                  {scenarioLabel[each]}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {draft.scenario === 'packet-loss' ? (
          <>
            <Field
              label="Packet loss"
              hint="Percent of packets in each direction."
              error={faults.loss ?? (delayError === undefined ? errorOf('link') : errorOf('link.lossPercent'))}
            >
              {(control) => (
                <Input
                  {...control}
                  mono
                  inputMode="decimal"
                  value={draft.loss}
                  onChange={(event) => onDraft({ ...draft, loss: event.target.value })}
                />
              )}
            </Field>
            <Field label="Link delay" hint="Milliseconds in each direction." error={faults.delay ?? delayError}>
              {(control) => (
                <Input
                  {...control}
                  mono
                  inputMode="numeric"
                  value={draft.delay}
                  onChange={(event) => onDraft({ ...draft, delay: event.target.value })}
                />
              )}
            </Field>
          </>
        ) : null}
        {isLab && draft.scenario === 'matrix' ? (
          <>
            <Field
              label="App server"
              hint={
                copies
                  ? 'Started beside the app, with its settings and secrets. No visitor reaches it.'
                  : 'Must be installed on the server, except the lab’s own app and the copy of the live release.'
              }
              error={responseDelayError === undefined ? errorOf('labApp') : undefined}
            >
              {(control) => (
                <Select
                  {...control}
                  value={draft.server}
                  onChange={({ target }) => {
                    const server = LAB_SERVERS.find((each) => each === target.value);
                    if (server !== undefined) onDraft(withServer(draft, server));
                  }}
                >
                  {LAB_SERVERS.map((each) => (
                    <option key={each} value={each}>
                      {labServerLabel[each]}
                    </option>
                  ))}
                </Select>
              )}
            </Field>
            {copies ? null : (
              <Field
                label="Response delay"
                hint="Milliseconds before the app answers."
                error={faults.responseDelay ?? responseDelayError}
              >
                {(control) => (
                  <Input
                    {...control}
                    mono
                    inputMode="numeric"
                    value={draft.responseDelay}
                    onChange={(event) => onDraft({ ...draft, responseDelay: event.target.value })}
                  />
                )}
              </Field>
            )}
          </>
        ) : null}
        <Field
          label="Path"
          hint={hasRequests ? 'Not used: requests have their own paths.' : isGrpc && !isLab ? CALL_HINT : undefined}
          error={errorOf('path')}
          className="sm:col-span-2"
        >
          {(control) => (
            <Input
              {...control}
              mono
              disabled={hasRequests}
              value={draft.path}
              onChange={(event) => onDraft({ ...draft, path: event.target.value })}
            />
          )}
        </Field>
        <Field
          label="Concurrency"
          hint={`Up to eight numbers, each at most ${isLab && !copies ? CONCURRENCY_MAX : LIVE_CONCURRENCY_MAX}.`}
          error={faults.concurrency ?? errorOf('concurrency')}
          className="sm:col-span-2"
        >
          {(control) => (
            <Input
              {...control}
              mono
              value={draft.concurrency}
              onChange={(event) => onDraft({ ...draft, concurrency: event.target.value })}
            />
          )}
        </Field>
        <Field label="Seconds per row" error={errorOf('durationMs')}>
          {(control) => (
            <Select
              {...control}
              value={draft.seconds}
              onChange={(event) => onDraft({ ...draft, seconds: event.target.value })}
            >
              {choicesWith(SECONDS, draft.base.durationMs / 1000).map((each) => (
                <option key={each}>{each}</option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Rounds" hint="Intervals need at least three." error={errorOf('repeats')}>
          {(control) => (
            <Select
              {...control}
              value={draft.repeats}
              onChange={(event) => onDraft({ ...draft, repeats: event.target.value })}
            >
              {choicesWith(ROUNDS, draft.base.repeats).map((each) => (
                <option key={each}>{each}</option>
              ))}
            </Select>
          )}
        </Field>
        <Field
          label="Requests per second"
          hint="Default: closed loop, one request per client at a time."
          error={faults.rate ?? errorOf('requestsPerSecond')}
        >
          {(control) => (
            <Input
              {...control}
              mono
              inputMode="numeric"
              value={draft.rate}
              onChange={(event) => onDraft({ ...draft, rate: event.target.value })}
            />
          )}
        </Field>
        <Field label="Connections" error={errorOf('connection')}>
          {(control) => (
            <Select
              {...control}
              value={draft.connection}
              disabled={draft.scenario !== 'matrix'}
              onChange={({ target }) =>
                onDraft({ ...draft, connection: target.value === 'fresh' ? 'fresh' : 'reused' })
              }
            >
              <option value="reused">Reused</option>
              <option value="fresh">Fresh for each request</option>
            </Select>
          )}
        </Field>
      </div>
      <LoadFields
        first={draft.load ?? plainPlan.load}
        hosts={hosts}
        isGrpc={isGrpc}
        errorOf={(field) => errorOf(field === '' ? 'load' : `load.${field}`)}
        onChange={(load, hasSome) => onDraft({ ...draft, load, hasRequests: hasSome })}
      />
      <Choices
        legend="Protocols"
        all={isLab ? LAB_PROTOCOLS : PROTOCOLS}
        chosen={draft.protocols}
        labels={protocolLabel}
        hint="gRPC: unary calls over HTTP/2, without other protocols."
        error={faults.protocols ?? errorOf('protocols')}
        onChosen={(protocols) => onDraft(withProtocols(draft, protocols))}
      />
      {targets.length > 1 ? (
        <Choices
          legend="Targets"
          all={targets}
          chosen={draft.targets}
          labels={targetLabel}
          error={faults.targets ?? errorOf('targets')}
          onChosen={(chosen) => onDraft({ ...draft, targets: chosen })}
        />
      ) : null}
      <ThresholdFields
        first={draft.thresholds ?? []}
        metrics={ALL_METRICS}
        rows={{
          targets: draft.targets.map((value) => ({ value, label: targetLabel[value] })),
          protocols: draft.protocols.map((value) => ({ value, label: protocolLabel[value] })),
          concurrency: parseConcurrency(draft.concurrency) ?? [],
        }}
        attempt={attempt}
        errorOf={(at) => errorOf(`thresholds.${at}`)}
        onChange={(thresholds) => onDraft({ ...draft, thresholds })}
      />
    </>
  );
}

interface ChoicesProps<Name extends string> {
  readonly legend: string;
  readonly all: readonly Name[];
  readonly chosen: readonly Name[];
  readonly labels: Readonly<Record<Name, string>>;
  readonly hint?: string;
  readonly error: string | undefined;
  readonly onChosen: (chosen: readonly Name[]) => void;
}

function Choices<Name extends string>({ legend, all, chosen, labels, hint, error, onChosen }: ChoicesProps<Name>) {
  const errorId = useId();
  return (
    <fieldset className="flex flex-wrap gap-x-6 gap-y-2">
      <legend className="mb-1.5 font-medium">{legend}</legend>
      {all.map((name) => (
        <Checkbox
          key={name}
          label={labels[name]}
          aria-invalid={error === undefined ? undefined : true}
          aria-describedby={error === undefined ? undefined : errorId}
          checked={chosen.includes(name)}
          onChange={({ target }) =>
            onChosen(all.filter((each) => (each === name ? target.checked : chosen.includes(each))))
          }
        />
      ))}
      {hint === undefined ? null : <p className="w-full text-ink-faint text-sm">{hint}</p>}
      {error === undefined ? null : (
        <p id={errorId} role="alert" className="w-full text-bad-text text-sm">
          {error}
        </p>
      )}
    </fieldset>
  );
}
