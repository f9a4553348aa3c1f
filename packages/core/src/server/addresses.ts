// Public addresses of a server: those that a member entered, or else the detected ones. Pure.
import { createAddressGuard } from '@fairlead/outbound/addresses';

const isPublic = createAddressGuard([]);

export interface AddressFacts {
  readonly interfaceAddresses: readonly string[];
  readonly connectionAddress: string | null;
  readonly enteredAddresses: readonly string[];
}

/**
 * Returns the public addresses among those of the interfaces and the one from which the agent connects. A private address is not
 * public: visitors of the internet don't reach it.
 */
export function detectedAddresses({ interfaceAddresses, connectionAddress }: Omit<AddressFacts, 'enteredAddresses'>) {
  const own = interfaceAddresses.filter(isPublic);
  const source = connectionAddress !== null && isPublic(connectionAddress) ? connectionAddress : null;
  // The connection may leave by another address of the machine than the one that it listens on.
  const isNew = source !== null && !own.some((address) => address.includes(':') === source.includes(':'));
  return isNew ? [...own, source] : own;
}

/** Returns the addresses that DNS records of the server's apps should have. */
export function publicAddresses(facts: AddressFacts): readonly string[] {
  return facts.enteredAddresses.length > 0 ? facts.enteredAddresses : detectedAddresses(facts);
}
