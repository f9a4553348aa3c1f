// Kinds of what needs attention, with their titles. Pure, and without zod, because browsers load it with every list.

import type { AttentionKind } from './schema.ts';

const nouns: Readonly<Record<AttentionKind, readonly [one: string, many: string]>> = {
  server_offline: ['offline server', 'offline servers'],
  app_unhealthy: ['unhealthy app', 'unhealthy apps'],
  approval: ['deployment waits for your approval', 'deployments wait for your approval'],
  deployment_failed: ['failed deployment', 'failed deployments'],
  deployment_stuck: ['stuck deployment', 'stuck deployments'],
  disk_short: ['server is running out of disk space', 'servers are running out of disk space'],
  certificate: ['certificate needs attention', 'certificates need attention'],
  server_refused: ['server rejects its newest state', 'servers reject their newest state'],
  clock_offset: ['server has a wrong clock', 'servers have a wrong clock'],
  secret_expiring: ['secret expires soon', 'secrets expire soon'],
};

/** Kinds, the most urgent first. */
export const attentionKinds = Object.keys(nouns) as readonly AttentionKind[];

export function titleOfGroup(kind: AttentionKind, count: number): string {
  return `${count} ${nouns[kind][count === 1 ? 0 : 1]}`;
}

/** Names the rows of a list that shows one kind only. */
export function titleOfKind(kind: AttentionKind): string {
  const many = nouns[kind][1];
  return `${many.charAt(0).toUpperCase()}${many.slice(1)}`;
}
