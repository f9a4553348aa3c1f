// Options of the overview for a reader who may see everything. Tests only.
import type { AttentionReach } from '../attention/index.ts';
import { defaultBuildSlots } from '../deployment/index.ts';
import type { AppLinks } from '../domain/index.ts';
import type { OverviewOptions } from '../overview/index.ts';
import { wholeReach } from '../role/index.ts';

export const wholeAttention: AttentionReach = {
  apps: wholeReach,
  deployments: wholeReach,
  approvals: wholeReach,
  secrets: wholeReach,
  domains: wholeReach,
  servers: true,
};

export function wholeOverview(links: AppLinks): OverviewOptions {
  return {
    links,
    buildSlots: defaultBuildSlots,
    reach: { ...wholeAttention, metrics: wholeReach },
    checklist: { deploy: true, domain: true, invite: true, server: true, operator: null },
  };
}
