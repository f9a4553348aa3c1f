// Sums up the results of all apps and compares them with the limits. An app that neither goes live nor fails as listed
// counts as wrong advice, unless the environment refused a connection that it needs.

import type { App, FailingApp } from './real-app.ts';
import type { Refusal } from './refused-connections.ts';

/** Outcome of one app. */
export interface Ending {
  /** Final state of the deployment. */
  readonly state: string;
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
  /** Reasons why an app with a live deployment does not count as live, one sentence each. */
  readonly problems: readonly string[];
  /** Hosts outside the registries that this machine cannot reach either. */
  readonly refusals: readonly Refusal[];
}

export type Outcome = 'live' | 'live with a setting' | "environment's fault" | 'failed as listed' | 'wrong advice';

export interface Sum {
  /** Number of apps, without those that failed as listed. */
  readonly apps: number;
  readonly live: number;
  readonly liveWithSetting: number;
  readonly environment: number;
  readonly wrongAdvice: number;
}

export const APPS_MIN = 60;
const REACHABLE_MIN = 45;
const LIVE_MIN_PERCENT = 95;
const VERSION_FAILURES: readonly string[] = ['build.toolchain_missing', 'build.version_unsupported'];

export function outcomeOf(app: App, ending: Ending): Outcome {
  const isGood = ending.state === 'live' && ending.problems.length === 0;
  if ('fails' in app) {
    if (failsAsListed(app, ending)) return 'failed as listed';
    if (isGood) return 'wrong advice';
  } else if (isGood) {
    return app.settings === undefined ? 'live' : 'live with a setting';
  }
  return ending.refusals.some((refusal) => explains(refusal, ending)) ? "environment's fault" : 'wrong advice';
}

/** A failed runtime download explains version failures only: the build continued with the server's own runtime. */
function explains({ line }: Refusal, { failureCode }: Ending): boolean {
  return !/^Wanted .* can't be reached, so /.test(line) || VERSION_FAILURES.includes(failureCode ?? '');
}

function failsAsListed({ fails }: FailingApp, { state, failureCode, failureMessage }: Ending): boolean {
  return state === 'failed' && failureCode === fails.code && (failureMessage ?? '').includes(fails.quotes);
}

export function summarize(results: readonly { readonly outcome: Outcome }[]): Sum {
  const count = (outcome: Outcome) => results.filter((each) => each.outcome === outcome).length;
  return {
    apps: results.length - count('failed as listed'),
    live: count('live'),
    liveWithSetting: count('live with a setting'),
    environment: count("environment's fault"),
    wrongAdvice: count('wrong advice'),
  };
}

/** Returns the reasons why the run does not pass; empty if it passes. */
export function shortfalls({ apps, live, environment, wrongAdvice }: Sum): readonly string[] {
  const reachable = apps - environment;
  return [
    ...(apps < APPS_MIN ? [`${apps} apps are fewer than ${APPS_MIN}`] : []),
    ...(reachable < REACHABLE_MIN
      ? [`${reachable} apps without those of the environment are fewer than ${REACHABLE_MIN}`]
      : []),
    ...(live * 100 < reachable * LIVE_MIN_PERCENT
      ? [`${live} of ${reachable} live at the first try are fewer than ${LIVE_MIN_PERCENT} %`]
      : []),
    ...(wrongAdvice > 0 ? [`${wrongAdvice} apps got wrong advice`] : []),
  ];
}

export function lastLine({ apps, live, liveWithSetting, environment, wrongAdvice }: Sum): string {
  return `apps ${apps}, live at first try ${live}, live with one setting ${liveWithSetting}, environment's fault ${environment}, wrong advice ${wrongAdvice}`;
}
