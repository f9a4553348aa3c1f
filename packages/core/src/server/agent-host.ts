// Stores an agent's facts about itself and its host, clipped so that no agent can fill our tables.
import type { HostInfo, SealingKey } from '@fairlead/contract/agent';
import { AppError, clipText } from '../kernel/index.ts';
import type { HostInfoView } from './schema.ts';

const wordMax = 200;
const listMax = 50;

export function hostInfoOf(host: HostInfo | undefined): Partial<HostInfoView> {
  if (host === undefined) return {};
  return {
    hostname: clipText(host.hostname, wordMax),
    os: clipText(host.os, wordMax),
    kernel: clipText(host.kernel, wordMax),
    arch: clipText(host.arch, wordMax),
    cpuCount: host.cpuCount,
    memoryBytes: Number(host.memoryBytes),
    diskBytes: Number(host.diskBytes),
    isolationOff: clipList(host.isolationOff),
  };
}

/** Clips a list of capabilities, or of what cannot be isolated. */
export function clipList(words: readonly string[]): string[] {
  return words.slice(0, listMax).map((word) => clipText(word, wordMax));
}

/** Returns an age X25519 recipient; undefined if the agent sends none. */
export function recipientOf(sealing: SealingKey | undefined): string | undefined {
  if (sealing === undefined) return undefined;
  if (!/^age1[02-9ac-hj-np-z]{58}$/.test(sealing.recipient)) throw new AppError('link.malformed');
  return sealing.recipient;
}

export function agentVersionOf(version: string): string {
  return clipText(version, 60);
}
