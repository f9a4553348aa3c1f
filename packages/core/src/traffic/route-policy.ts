// Converts a domain's policy to the agent's message. Pure.
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { HeaderAction, Priority, type RoutePolicy, RoutePolicySchema } from '@fairlead/contract/traffic';
import type { StoredPolicy } from './schema.ts';

const actions = {
  set: HeaderAction.SET,
  append: HeaderAction.APPEND,
  remove: HeaderAction.REMOVE,
} as const;

const priorities = {
  low: Priority.LOW,
  // Default priority.
  normal: Priority.UNSPECIFIED,
  high: Priority.HIGH,
} as const;

/** Null for a policy that changes nothing: a route without one pays nothing for it. */
export function routePolicy(policy: Omit<StoredPolicy, 'redirect'>): RoutePolicy | null {
  const { limits, basicAuth, maintenance } = policy;
  const rules = (all: StoredPolicy['requestHeaders']) =>
    all.map(({ action, ...rule }) => ({ ...rule, action: actions[action] }));
  const message = create(RoutePolicySchema, {
    servePlainHttp: policy.servePlainHttp,
    stripPrefix: policy.stripPrefix,
    requestHeaders: rules(policy.requestHeaders),
    responseHeaders: rules(policy.responseHeaders),
    allow: policy.allow,
    deny: policy.deny,
    errorPages: policy.errorPages,
    priority: priorities[policy.priority],
    compress: policy.compress,
    requestBodyBytesMax: BigInt(policy.requestBodyBytesMax),
    ...(Object.values(limits).some((limit) => limit > 0) ? { limits } : {}),
    ...(basicAuth === null ? {} : { basicAuth }),
    ...(maintenance === null ? {} : { maintenance }),
  } satisfies MessageInitShape<typeof RoutePolicySchema>);
  return toBinary(RoutePolicySchema, message).length === 0 ? null : message;
}
