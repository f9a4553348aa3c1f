// Text of a failed deployment and its next step, by its code: a page of settings, the failing line, or a retry. Pure.
import type { ErrorCode } from '@fairlead/contract/errors';
import { type LogViewLine, plainText } from '@fairlead/ui/lib/log-rows';
import type { Paths } from '../../common/organization/paths.ts';

/** `log` leads to the failing line, `again` deploys again, the others open a page. */
export type NextStep = 'again' | 'build' | 'log' | 'run' | 'secrets' | 'server' | 'source' | 'variables' | 'volumes';

type PageStep = Exclude<NextStep, 'again' | 'log'>;

export const stepLabel: Record<NextStep, string> = {
  again: 'Deploy again',
  build: 'Open build settings',
  log: 'Show failing line',
  run: 'Open run settings',
  secrets: 'Open secrets',
  server: 'Open server',
  source: 'Open app settings',
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

/** Codes with messages that already mention live traffic. */
const TELLS_TRAFFIC: ReadonlySet<string> = new Set<ErrorCode>(['rollout.canary_failed', 'rollout.command_failed']);

export interface DeploymentFailure {
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
}

/** Returns the text of a failed deployment, with its effect on live traffic. */
export function failureText({ failureCode, failureMessage }: DeploymentFailure): string {
  const message = failureMessage ?? 'See its log.';
  return TELLS_TRAFFIC.has(failureCode ?? '') ? message : `${message} Live traffic is unaffected.`;
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
    case 'run':
    case 'variables':
    case 'volumes':
      return `${paths.appConfig(appSlug, environmentId)}#${step}`;
    case 'secrets':
      return paths.appSecrets(appSlug, environmentId);
    case 'source':
      return paths.appSettings(appSlug, environmentId);
    case 'server':
      return serverId === null ? null : paths.server(serverId);
  }
}

/** Index of the line that the sentence quotes, else of the sentence itself, else of the last line; null for an empty log. */
export function failingLine(lines: readonly LogViewLine[], message: string | null): number | null {
  if (lines.length === 0) return null;
  const quotes = (message ?? '').split('`').filter((_, index) => index % 2 === 1);
  // In a quotation, the agent replaces backticks by apostrophes and truncates long lines.
  const isQuoted = (text: string) => {
    const plain = plainText(text).replaceAll('`', "'").trim();
    return quotes.some((quote) => plain === quote || (quote.endsWith('…') && plain.startsWith(quote.slice(0, -1))));
  };
  const quoted = lines.findLastIndex((line) => line.tone !== 'system' && isQuoted(line.text));
  if (quoted !== -1) return quoted;
  const sentence = lines.findLastIndex((line) => line.text === message);
  return sentence === -1 ? lines.length - 1 : sentence;
}
