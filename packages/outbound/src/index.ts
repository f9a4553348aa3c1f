export {
  createOutbound,
  type Outbound,
  OutboundError,
  type OutboundOptions,
  type OutboundResponse,
} from './outbound.ts';
