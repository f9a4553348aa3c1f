// Converts a domain's policy to the agent's message. Pure.
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { HeaderAction, Priority, type RoutePolicy, RoutePolicySchema } from '@fairlead/contract/traffic';
import { type HostPolicySettings, hostPolicySchema, type StoredPolicy } from './schema.ts';

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
export function routePolicy(
  policy: Omit<StoredPolicy, 'redirect'>,
  host: HostPolicySettings = hostPolicySchema.parse({}),
): RoutePolicy | null {
  const { limits, priority, requestBodyBytesMax, requestHeaders, responseHeaders, ...plain } = policy;
  const rules = (all: StoredPolicy['requestHeaders']) =>
    all.map(({ action, ...rule }) => ({ ...rule, action: actions[action] }));
  const message = create(RoutePolicySchema, {
    ...withoutNulls(plain),
    requestHeaders: rules(requestHeaders),
    responseHeaders: rules(responseHeaders),
    priority: priorities[priority],
    requestBodyBytesMax: BigInt(requestBodyBytesMax),
    ...hostFields(host),
    ...(Object.values(limits).some((limit) => limit > 0) ? { limits } : {}),
  } satisfies MessageInitShape<typeof RoutePolicySchema>);
  return toBinary(RoutePolicySchema, message).length === 0 ? null : message;
}

function hostFields({ minTlsVersion, hsts, clientAuth }: HostPolicySettings) {
  const auth =
    clientAuth === null ? {} : { clientAuth: { required: clientAuth.mode === 'required', caPem: clientAuth.caPem } };
  const tls13Only = minTlsVersion === '1.3';
  return {
    ...(tls13Only || clientAuth !== null ? { tls: { tls13Only, ...auth } } : {}),
    ...(hsts === null ? {} : { hsts }),
  };
}

type WithoutNulls<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], null> };

/** The other settings have the names and shapes of the message; null there is an absent field. */
function withoutNulls<Fields extends object>(fields: Fields): WithoutNulls<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as WithoutNulls<Fields>;
}
