// State of a plan's form, and fields that a choice changes with it. It keeps fields that the form doesn't show, such as the
// host of an uploaded plan. Pure.
import { plainPlan, planFaults, speaks, TARGETS } from '@fairlead/core/benchmark/plan';
import type { BenchmarkPlan } from '@fairlead/core/benchmark/schema';
import { parseConcurrency } from './results.ts';

export interface PlanDraft {
  readonly base: BenchmarkPlan;
  readonly path: string;
  readonly concurrency: string;
  readonly seconds: string;
  readonly repeats: string;
  /** Requests per second; empty: a closed loop. */
  readonly rate: string;
  readonly upstream: BenchmarkPlan['upstream'];
  readonly scenario: BenchmarkPlan['scenario'];
  readonly connection: BenchmarkPlan['connection'];
  readonly targets: readonly BenchmarkPlan['targets'][number][];
  readonly protocols: readonly BenchmarkPlan['protocols'][number][];
  readonly server: BenchmarkPlan['labApp']['server'];
  /** Response delay of the lab's app, in milliseconds. */
  readonly responseDelay: string;
  /** Loss of the emulated link, in percent. */
  readonly loss: string;
  /** Delay of the emulated link in each direction, in milliseconds. */
  readonly delay: string;
  /** Null while one of them is invalid. */
  readonly thresholds: BenchmarkPlan['thresholds'] | null;
  /** Null while a field of it is invalid. */
  readonly load: BenchmarkPlan['load'] | null;
  /** True if the form has requests, also while a field of the load is invalid. */
  readonly hasRequests: boolean;
  /** Values that the last choice of a scenario set. Other ones come from a person. */
  readonly applied: ScenarioValues;
  /** Values that a person chose for another scenario, to keep or restore where a scenario allows them. */
  readonly own: Partial<ScenarioValues>;
}

/** Fields that follow the scenario. */
type ScenarioValues = Pick<PlanDraft, 'concurrency' | 'rate' | 'seconds' | 'protocols' | 'targets'>;

const firstPlan: BenchmarkPlan = {
  path: '/',
  targets: ['proxy', 'direct'],
  protocols: ['http1', 'http2'],
  concurrency: [1, 8, 32],
  repeats: 3,
  durationMs: 2000,
  warmupMs: 500,
  thresholds: [],
  ...plainPlan,
};

/** Scenarios of each upstream. */
export const scenariosOf: Record<BenchmarkPlan['upstream'], readonly BenchmarkPlan['scenario'][]> = {
  live: ['matrix', 'burst', 'deploy', 'route-change', 'proxy-upgrade', 'wake'],
  lab: ['matrix', 'burst', 'slow-upstream', 'greedy-client', 'latency', 'packet-loss'],
};
/** Scenarios that measure an app through the proxy only. */
const proxyScenarios: readonly BenchmarkPlan['scenario'][] = ['deploy', 'route-change', 'proxy-upgrade', 'wake'];
/** Scenarios that the form starts as a closed loop. */
const closedScenarios: readonly BenchmarkPlan['scenario'][] = ['latency', 'packet-loss', 'wake'];
const LAB_TARGETS: PlanDraft['targets'] = ['proxy', 'direct', 'floor', 'nginx', 'haproxy'];
const PROXY_ONLY: PlanDraft['targets'] = ['proxy'];
const RATE = '200';
/** Time of each phase, so that a deployment fits. */
const DEPLOY_SECONDS = '10';
const RATE_MAX = 100_000;

export function draftOf(plan: BenchmarkPlan = firstPlan): PlanDraft {
  return {
    hasRequests: plan.load.requests.length > 0,
    applied: presetOf(plan.scenario, plan.upstream),
    own: {},
    base: plan,
    path: plan.path,
    concurrency: plan.concurrency.join(', '),
    seconds: String(plan.durationMs / 1000),
    repeats: String(plan.repeats),
    rate: plan.requestsPerSecond === null ? '' : String(plan.requestsPerSecond),
    upstream: plan.upstream,
    scenario: plan.scenario,
    connection: plan.connection,
    targets: plan.targets,
    protocols: plan.protocols,
    server: plan.labApp.server,
    responseDelay: String(plan.labApp.responseDelayMs),
    loss: String(plan.link.lossPercent),
    delay: String(plan.link.delayMs),
    thresholds: plan.thresholds,
    load: plan.load,
  };
}

/** `isComplete` is false while a field has no value that a plan could have. */
export function planOf(draft: PlanDraft): { readonly plan: BenchmarkPlan; readonly isComplete: boolean } {
  const { labApp, link } = draft.base;
  const plan: BenchmarkPlan = {
    ...draft.base,
    // Requests have their own paths.
    path: draft.hasRequests ? '/' : draft.path,
    concurrency: parseConcurrency(draft.concurrency) ?? [],
    durationMs: Math.round(Number(draft.seconds) * 1000),
    repeats: Number(draft.repeats),
    requestsPerSecond: draft.rate === '' ? null : Number(draft.rate),
    upstream: draft.upstream,
    scenario: draft.scenario,
    connection: draft.connection,
    targets: [...draft.targets],
    protocols: [...draft.protocols],
    labApp: { ...labApp, server: draft.server, responseDelayMs: amountOf(draft.responseDelay, labApp.responseDelayMs) },
    link: { lossPercent: amountOf(draft.loss, link.lossPercent), delayMs: amountOf(draft.delay, link.delayMs) },
    thresholds: draft.thresholds ?? [],
    load: draft.load ?? plainPlan.load,
  };
  const isFilled = draft.thresholds !== null && draft.load !== null;
  return { plan, isComplete: isFilled && Object.keys(draftFaults(draft)).length === 0 };
}

export type DraftFaults = Partial<
  Record<'concurrency' | 'rate' | 'protocols' | 'targets' | 'loss' | 'delay' | 'responseDelay', string>
>;

/** Returns the errors of fields that no plan could have. Load and thresholds show their own. */
export function draftFaults(draft: PlanDraft): DraftFaults {
  const rate = draft.rate === '' ? 1 : Number(draft.rate);
  const hasLink = draft.scenario === 'packet-loss';
  const hasDelay = draft.upstream === 'lab' && draft.scenario === 'matrix' && draft.server !== 'release';
  const rules: readonly (readonly [isFault: boolean, field: keyof DraftFaults, message: string])[] = [
    [parseConcurrency(draft.concurrency) === null, 'concurrency', 'Enter numbers such as 1, 8, 32.'],
    [
      !Number.isInteger(rate) || rate < 1 || rate > RATE_MAX,
      'rate',
      `Enter a number from 1 to ${RATE_MAX}, or leave it empty.`,
    ],
    [draft.protocols.length === 0, 'protocols', 'Choose at least 1 protocol.'],
    [draft.targets.length === 0, 'targets', 'Choose at least 1 target.'],
    [hasLink && !isAmount(draft.loss), 'loss', 'Enter a percentage such as 1 or 2.5.'],
    [hasLink && !isAmount(draft.delay), 'delay', 'Enter a number of milliseconds such as 20.'],
    [hasDelay && !isAmount(draft.responseDelay), 'responseDelay', 'Enter a number of milliseconds such as 20.'],
  ];
  return Object.fromEntries(rules.flatMap(([isFault, field, message]) => (isFault ? [[field, message]] : [])));
}

/** Returns the number; `other` if it is invalid. */
function amountOf(text: string, other: number): number {
  return isAmount(text) ? Number(text) : other;
}

/** True for a number that is not negative. */
function isAmount(text: string): boolean {
  return text.trim() !== '' && Number(text) >= 0;
}

/** Chooses the upstream. Targets and scenario follow. */
export function withUpstream(draft: PlanDraft, upstream: PlanDraft['upstream']): PlanDraft {
  const { targets } = presetOf(draft.scenario, upstream);
  const protocols = draft.protocols.filter((protocol) => upstream === 'lab' || protocol !== 'http1-cleartext');
  // The lab's app has one path.
  const path = upstream === 'lab' ? '/' : draft.path;
  const applied = { ...draft.applied, targets };
  const own = { ...draft.own };
  delete own.targets;
  const next = { ...draft, upstream, path, targets, protocols, server: 'own' as const, applied, own };
  return scenariosOf[upstream].includes(draft.scenario) ? next : withScenario(next, 'matrix');
}

/** Chooses the program that answers in the lab. Only a copy of the release has its own path, and it has no response delay. */
export function withServer(draft: PlanDraft, server: PlanDraft['server']): PlanDraft {
  return server === 'release' ? { ...draft, server, responseDelay: '0' } : { ...draft, server, path: '/' };
}

/** Returns the values that a scenario starts with. Most have an open loop over HTTP/1.1. */
function presetOf(scenario: PlanDraft['scenario'], upstream: PlanDraft['upstream']): ScenarioValues {
  const plan = firstPlan;
  const seconds = scenario === 'deploy' ? DEPLOY_SECONDS : String(plan.durationMs / 1000);
  const targets = upstream === 'lab' ? LAB_TARGETS : proxyScenarios.includes(scenario) ? PROXY_ONLY : plan.targets;
  if (scenario === 'matrix') {
    return { concurrency: plan.concurrency.join(', '), rate: '', seconds, protocols: plan.protocols, targets };
  }
  const concurrency = scenario === 'latency' ? '1' : '16';
  const rate = closedScenarios.includes(scenario) ? '' : RATE;
  return { concurrency, rate, seconds, protocols: ['http1'], targets };
}

/**
 * Chooses a scenario. Every one but the matrix has reused connections. Values that a person chose stay or come back where
 * the scenario allows them. All other ones are those that the scenario starts with.
 */
export function withScenario(draft: PlanDraft, scenario: PlanDraft['scenario']): PlanDraft {
  const preset = presetOf(scenario, draft.upstream);
  const own = { ...draft.own, ...changedValues(draft) };
  const isMatrix = scenario === 'matrix';
  const next: PlanDraft = {
    ...draft,
    ...{ scenario, ...preset, own },
    connection: isMatrix ? draft.connection : 'reused',
    // Other scenarios have the lab's own app. Only a copy of the release has its own path.
    server: isMatrix ? draft.server : 'own',
    path: !isMatrix && draft.server === 'release' ? '/' : draft.path,
  };
  const allowed = Object.fromEntries(
    Object.entries(own).filter(([name, value]) => isAllowed({ ...next, [name]: value }, name)),
  );
  return { ...next, ...allowed, applied: { ...preset, ...allowed } };
}

/** Fields of a plan by the name of the draft's field. */
const planField: Partial<Record<string, string>> = { rate: 'requestsPerSecond' };

/** Returns whether a field fits the scenario of the draft. */
function isAllowed(draft: PlanDraft, name: string): boolean {
  if (name === 'seconds') return draft.scenario !== 'deploy' || Number(draft.seconds) >= Number(DEPLOY_SECONDS);
  if (name in draftFaults(draft)) return false;
  return !planFaults(planOf(draft).plan).some(({ field }) => field === (planField[name] ?? name));
}

/** Returns the values that a person changed since the last choice of a scenario. */
function changedValues({ applied, ...draft }: PlanDraft): Partial<ScenarioValues> {
  const names = Object.keys(applied) as (keyof ScenarioValues)[];
  return Object.fromEntries(
    names.filter((name) => String(draft[name]) !== String(applied[name])).map((name) => [name, draft[name]]),
  );
}

/** Chooses protocols. gRPC excludes other protocols, fresh connections, other app servers and targets that can't forward it. */
export function withProtocols(draft: PlanDraft, protocols: PlanDraft['protocols']): PlanDraft {
  const isAdded = protocols.includes('grpc') && !draft.protocols.includes('grpc');
  if (!isAdded) {
    const isMixed = protocols.length > 1;
    return { ...draft, protocols: isMixed ? protocols.filter((protocol) => protocol !== 'grpc') : protocols };
  }
  const targets = draft.targets.filter((target) => speaks(target, 'grpc'));
  return { ...draft, protocols: ['grpc'], targets, connection: 'reused', server: 'own' };
}

/** Returns the targets that a plan can measure. Load servers reach an app through the proxy only. */
export function targetChoices({ upstream, scenario }: PlanDraft, isDistributed: boolean): PlanDraft['targets'] {
  if (upstream === 'lab') return TARGETS;
  return isDistributed || proxyScenarios.includes(scenario) ? ['proxy'] : ['proxy', 'direct'];
}

/** Leaves only targets that load servers can measure. */
export function withLoadServers(draft: PlanDraft): PlanDraft {
  return draft.upstream === 'lab' || draft.targets.every((target) => target === 'proxy')
    ? draft
    : { ...draft, targets: ['proxy'] };
}

/** Returns the usual choices, with the plan's own among them. */
export function choicesWith(usual: readonly number[], own: number): string[] {
  return [...new Set([...usual, own])].sort((one, other) => one - other).map(String);
}
