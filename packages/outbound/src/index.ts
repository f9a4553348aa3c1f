// The door to other people's servers. Every request that the control plane makes to an address somebody typed goes here.
export {
  createOutbound,
  type Outbound,
  OutboundError,
  type OutboundOptions,
  type OutboundResponse,
} from './outbound.ts';
