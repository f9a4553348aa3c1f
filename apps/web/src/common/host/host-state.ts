// Words for the state of a host's DNS records: the label, and what to do next.
import type { HostConflict, HostState, HostView, PortFinding } from '@fairlead/core/host/schema';
import type { Tone } from '@fairlead/ui/state-pill';

const LOOKS: Record<HostState, readonly [Tone, string]> = {
  pending: ['busy', 'Checking'],
  check_failed: ['warn', 'Check failed'],
  not_resolving: ['warn', 'Not resolving'],
  address_unknown: ['warn', 'Address unknown'],
  resolves_elsewhere: ['bad', 'Resolves elsewhere'],
  proxied: ['warn', 'Behind a CDN'],
  partial: ['warn', 'Partial'],
  caa_blocks: ['bad', 'Blocked by CAA'],
  port_closed: ['bad', 'Port closed'],
  port_taken: ['bad', 'Port taken'],
  ready: ['ok', 'Ready'],
};

export function hostLook(state: HostState, conflict: HostConflict | null): readonly [Tone, string] {
  return conflict === null ? LOOKS[state] : ['bad', 'Not served'];
}

/** Whole sentences: what the check found, and what to do. */
export function explainHost(view: HostView): string {
  const { host, state, found, cdn, missingAddresses, serversWithoutAddress } = view;
  switch (state) {
    case 'pending':
      return 'Fairlead looks up the DNS records within seconds.';
    case 'check_failed':
      return `The DNS servers did not answer (${found?.failure}). Fairlead checks again automatically. If this persists, check the setting dns.resolvers of the control plane.`;
    case 'not_resolving':
      return `${host} has no address yet. Set the records below at your DNS provider. Fairlead finds them within seconds.`;
    case 'address_unknown':
      return `${host} resolves, but Fairlead doesn't know a public address of ${serversWithoutAddress.join(', ')} to compare it with. Enter one on the server's page.`;
    case 'resolves_elsewhere':
      return `${leadsElsewhere(view)} Others may have the old records in their cache for a while.`;
    case 'proxied':
      return `${host} points to ${cdn}, not to its servers. Visitors reach them only if ${cdn} forwards requests. To issue a certificate here, let ${cdn} pass on plain HTTP below /.well-known/acme-challenge/, or turn its proxy off.`;
    case 'partial':
      return `${host} has no record for ${missingAddresses.join(', ')}. Some visitors can't reach it, or not every server gets requests. Set the missing records.`;
    case 'caa_blocks':
      return `The CAA record of ${found?.caa?.name} allows ${found?.caa?.issuers.join(', ') || 'no authority'}, but not the authority that this control plane uses. Add a CAA record for it, or remove this one.`;
    case 'port_closed':
      return `The records are right, but ${portsWith(view, 'none')} does not answer. Open it in the firewall of the server and of its provider.`;
    case 'port_taken':
      return `The records are right, but at ${portsWith(view, 'other')} another program answers, not Fairlead's proxy. Stop that program, or let the device in front of the server pass the port on unchanged.`;
    case 'ready':
      return view.arePortsChecked
        ? "The records are right, and Fairlead's proxy answers at ports 80 and 443."
        : 'The records are right. Ports were not checked: the control plane shares the address of the server, or must not call it.';
  }
}

function leadsElsewhere({ host, found, foreignAddresses }: HostView): string {
  const foreign = foreignAddresses.join(', ');
  if (foreignAddresses.length === found?.addresses.length)
    return `${host} points to ${foreign}, which isn't one of its servers. Remove these records and set the ones below.`;
  const isIpv6 = foreignAddresses.every((address) => address.includes(':'));
  const kind = isIpv6 ? 'AAAA record' : 'record';
  const records = foreignAddresses.length === 1 ? `that ${kind}` : `these ${kind}s`;
  return `${host} points to its servers, but also to ${foreign}. Remove ${records}: some visitors, and perhaps certificate authorities, are sent there.`;
}

function portsWith({ found }: HostView, answer: PortFinding['answer']): string {
  const ports = (found?.ports ?? []).filter((port) => port.answer === answer);
  return ports.map(({ address, port }) => `port ${port} of ${address}`).join(', ');
}

export const CONFLICTS: Record<HostConflict, string> = {
  proven:
    'Another organization has verified this name, so no server here answers for it. If the name is yours, ask that organization for a transfer code, or to release it.',
  claimed:
    'Another organization attached this name first, so no server here answers for it. If the name is yours, verify it with the TXT record below.',
};
