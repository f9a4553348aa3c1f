// Text of a failed deployment and its next step, by its code: a page of settings, the failing line, or a retry. Pure.
import type { ErrorCode } from '@fairlead/contract/errors';
import type { Paths } from '../organization/paths.ts';

/** `log` leads to the failing line, `again` deploys again, the others open a page. */
export type NextStep = 'again' | 'build' | 'log' | 'run' | 'secrets' | 'server' | 'source' | 'variables' | 'volumes';

type PageStep = Exclude<NextStep, 'again' | 'log'>;

export const stepLabel: Record<NextStep, string> = {
  again: 'Retry',
  build: 'Open build settings',
  log: 'Jump to error',
  run: 'Open runtime settings',
  secrets: 'Open variables',
  server: 'Open server',
  source: 'Open source settings',
  variables: 'Add variable',
  volumes: 'Add volume',
};

/** Codes without an entry lead to the log. */
const STEP: Partial<Record<ErrorCode, NextStep>> = {
  'build.clone_failed': 'source',
  'build.ref_not_found': 'source',
  'build.root_folder_missing': 'build',
  'build.not_detected': 'build',
  'build.output_missing': 'build',
  'build.script_missing': 'build',
  'build.out_of_memory': 'build',
  'build.too_large': 'build',
  'build.timeout': 'build',
  'build.variable_missing': 'variables',
  'build.credentials_missing': 'secrets',
  'build.secrets_unreadable': 'secrets',
  'build.toolchain_missing': 'server',
  'build.disk_full': 'server',
  'build.network_failed': 'again',
  'build.interrupted': 'again',
  'build.internal': 'again',
  'rollout.ended': 'run',
  'rollout.start_failed': 'run',
  'rollout.not_listening': 'run',
  'rollout.wrong_port': 'run',
  'rollout.unhealthy': 'run',
  'rollout.variable_missing': 'variables',
  'rollout.service_unreachable': 'variables',
  'rollout.write_denied': 'volumes',
  'rollout.files_too_large': 'volumes',
  'rollout.no_engine': 'server',
  'rollout.toolchain_missing': 'server',
  'rollout.image_unusable': 'server',
  'rollout.disk_full': 'server',
  'rollout.fetch_failed': 'again',
  'rollout.internal': 'again',
  'secret.unopenable': 'secrets',
};

/** Takes any text: an agent may be newer than the dashboard and send codes that it does not know. */
export function nextStepOf(failureCode: string | null): NextStep {
  const steps: Readonly<Record<string, NextStep | undefined>> = STEP;
  return (failureCode !== null && Object.hasOwn(steps, failureCode) && steps[failureCode]) || 'log';
}

/** Codes with messages that already say what serves now. */
const TELLS_TRAFFIC: ReadonlySet<string> = new Set<ErrorCode>(['rollout.canary_failed']);
/** The page shows those lines. */
const IN_LOG = / (?:Read the|The) last lines of the log(?: say why)?\./;
const UNAFFECTED = 'Live traffic is unaffected.';
const NEVER_LIVE = 'No release was live before.';

export interface DeploymentFailure {
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
  readonly hadLiveRelease: boolean;
}

/** Returns the text of a failed deployment, with its effect on live traffic. */
export function failureText({ failureCode, failureMessage, hadLiveRelease }: DeploymentFailure): string {
  const message = (failureMessage ?? 'See its log.').replace(IN_LOG, '');
  const effect = hadLiveRelease ? UNAFFECTED : NEVER_LIVE;
  // The agent's own sentence does not know whether there was an earlier release.
  if (message.includes(UNAFFECTED)) return message.replace(UNAFFECTED, effect);
  return TELLS_TRAFFIC.has(failureCode ?? '') ? message : `${message} ${effect}`;
}

/** Returns what serves after a deployment ends without being live. */
export function remainsText({ hadLiveRelease }: Pick<DeploymentFailure, 'hadLiveRelease'>): string {
  return hadLiveRelease ? 'The previous release stays live.' : NEVER_LIVE;
}

export interface StepPlace {
  readonly appSlug: string;
  readonly environmentId: string;
  readonly serverId: string | null;
}

/** The page of a step; null where there is none, such as that of a deleted server. */
export function pageOfStep(
  step: PageStep,
  paths: Paths,
  { appSlug, environmentId, serverId }: StepPlace,
): string | null {
  switch (step) {
    case 'build':
      return `${paths.appSettingsIn('source')(appSlug, environmentId)}#builder`;
    case 'run':
      return paths.appSettingsIn('runtime')(appSlug, environmentId);
    case 'volumes':
      return paths.appStorage(appSlug, environmentId);
    case 'secrets':
    case 'variables':
      return paths.appVariables(appSlug, environmentId);
    case 'source':
      return paths.appSettingsIn('source')(appSlug, environmentId);
    case 'server':
      return serverId === null ? null : paths.server(serverId);
  }
}
