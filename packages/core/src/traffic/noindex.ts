// Header that keeps search engines away from previews and deployment URLs. Pure.
import { headerRulesMax, type StoredPolicy } from './schema.ts';

const noindex = { action: 'set', name: 'x-robots-tag', value: 'noindex' } as const;

/** It comes first and displaces the last rule if there are too many: an agent refuses a policy beyond its bounds. */
export function withNoindex(policy: StoredPolicy): StoredPolicy {
  const others = policy.responseHeaders.filter(({ name }) => name !== noindex.name);
  return { ...policy, responseHeaders: [noindex, ...others].slice(0, headerRulesMax) };
}
