// Groups what needs attention and describes it in sentences. Pure.
import { errorTable, isErrorCode } from '@fairlead/contract/errors';
import { type CommitText, describeCommit } from '../kernel/text.ts';
import { attentionKinds, titleOfGroup } from './rules.ts';
import type { AttentionGroup, AttentionItem, AttentionKind } from './schema.ts';

/** Row of the query; `count` covers all entries of its kind and cause, also those that are not loaded. */
export interface ItemRow {
  readonly kind: string;
  readonly cause: string;
  readonly subject: string;
  readonly target: string;
  readonly count: number;
  readonly facts: Facts;
}

/** Facts of all kinds; each kind has a part of them. Times are text, as JSON has them. */
export interface Facts extends CommitText {
  readonly name?: string;
  readonly slug?: string | null;
  readonly at?: string | null;
  readonly environmentId?: string | null;
  readonly environmentName?: string;
  readonly environmentNames?: string;
  readonly working?: number;
  readonly wanted?: number;
  readonly number?: number;
  readonly state?: string;
  readonly message?: string | null;
  readonly requester?: string | null;
  readonly source?: string;
  readonly host?: string;
  readonly notAfter?: string | null;
  readonly offsetMs?: number;
  readonly ownerName?: string;
  readonly expiresAt?: string;
}

/** Kinds in their order, causes by their count. Expects the rows of a kind and cause in one run. */
export function groupsOf(rows: readonly ItemRow[], now: Date): AttentionGroup[] {
  const byKind = Map.groupBy(rows, ({ kind }) => kind);
  return attentionKinds.flatMap((kind): AttentionGroup[] => {
    const own = byKind.get(kind);
    if (own === undefined) return [];
    const causes = [...Map.groupBy(own, ({ cause }) => cause)].map(([cause, entries]) => {
      const count = entries[0]?.count ?? 0;
      return {
        cause,
        title: kind === 'deployment_failed' ? titleOfCause(cause) : '',
        count,
        items: entries.map((row) => toItem(kind, row, now)),
      };
    });
    causes.sort((a, b) => b.count - a.count || a.cause.localeCompare(b.cause));
    const count = causes.reduce((sum, cause) => sum + cause.count, 0);
    return [{ kind, title: titleOfGroup(kind, count), count, causes }];
  });
}

/** Returns the first sentence of the error; the rest says what to do, which differs between the deployments. */
export function titleOfCause(code: string): string {
  if (!isErrorCode(code)) return 'Another cause';
  return (errorTable[code].message.split(/\.(?:\s|$)/)[0] ?? '').trim();
}

type Text = Pick<AttentionItem, 'title' | 'detail'>;

function toItem(kind: AttentionKind, { subject, target, facts }: ItemRow, now: Date): AttentionItem {
  const isOf = (prefix: string) => (target.startsWith(`${prefix}_`) ? target : null);
  return {
    subject,
    ...sentences[kind](facts, now),
    at: dateOf(facts.at),
    appSlug: facts.slug ?? null,
    environmentId: (facts.environmentId ?? null) as AttentionItem['environmentId'],
    deploymentId: isOf('dep') as AttentionItem['deploymentId'],
    serverId: isOf('srv') as AttentionItem['serverId'],
    secretScope: kind !== 'secret_expiring' ? null : facts.slug ? 'app' : 'group',
    certificateId: (isOf('crt') ?? isOf('ucr')) as AttentionItem['certificateId'],
  };
}

const sentences: Readonly<Record<AttentionKind, (facts: Facts, now: Date) => Text>> = {
  server_offline: ({ name }) => ({
    title: `Server ${name} is not connected`,
    detail: 'Its apps keep serving, but it cannot deploy or report. Check that its agent runs.',
  }),
  app_unhealthy: ({ name, working, wanted, environmentNames }) => ({
    title: `${name} is not healthy`,
    detail: `${working} of ${wanted} instances in ${environmentNames} pass their health check. The app's page shows their last output.`,
  }),
  approval: ({ name, number, environmentName, ...facts }) => ({
    title: `Approve deployment ${number} of ${name} to ${environmentName}`,
    detail: `${describeCommit(facts)}. Requested by ${facts.requester ?? 'Fairlead'}.`,
  }),
  deployment_failed: ({ name, number, environmentName, message }) => ({
    title: `Deployment ${number} of ${name} to ${environmentName} failed`,
    detail: message ?? 'Its log says why.',
  }),
  deployment_stuck: ({ name, number, environmentName, state }) => ({
    title:
      state === 'building'
        ? `The build of deployment ${number} of ${name} takes longer than its timeout`
        : `Deployment ${number} of ${name} to ${environmentName} does not start`,
    detail:
      state === 'building'
        ? 'Check that the worker and the agent of its server run, or cancel it.'
        : 'It has been queued for more than 15 minutes with no other deployment ahead of it. Its page says what it waits for.',
  }),
  disk_short: ({ name, message }) => ({ title: `Server ${name} is running out of disk space`, detail: message ?? '' }),
  certificate: describeCertificate,
  server_refused: ({ name, message }) => ({
    title: `Server ${name} rejects its newest state`,
    detail: message ?? '',
  }),
  clock_offset: ({ name, offsetMs = 0 }) => ({
    title: `The clock of server ${name} is off`,
    detail: `It is ${(Math.abs(offsetMs) / 1000).toFixed(1)} s ${offsetMs > 0 ? 'ahead' : 'behind'}. Set up time synchronization there.`,
  }),
  secret_expiring: ({ name, ownerName, expiresAt = '' }, now) => ({
    title: `${name} of ${ownerName} ${new Date(expiresAt) > now ? 'expires' : 'expired'} on ${dayOf(expiresAt)}`,
    detail: 'Rotate it at its provider, then set the new value under Environment variables.',
  }),
};

function describeCertificate({ source, state, host, notAfter, message }: Facts): Text {
  const verb = state === 'expired' ? 'expired' : 'expires';
  const day = notAfter ? dayOf(notAfter) : '';
  if (source === 'upload') {
    return {
      title: `The uploaded certificate of ${host} ${verb} on ${day}`,
      detail: 'Upload a new one: Fairlead renews only certificates that it ordered.',
    };
  }
  const cause = message ?? 'Its page says why.';
  return notAfter
    ? { title: `The certificate of ${host} was not renewed`, detail: `It ${verb} on ${day}. ${cause}` }
    : { title: `${host} has no certificate`, detail: cause };
}

function dayOf(time: string): string {
  return new Date(time).toISOString().slice(0, 10);
}

function dateOf(time: string | null | undefined): Date | null {
  return time ? new Date(time) : null;
}
