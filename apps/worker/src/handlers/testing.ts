// Parts of handlers that call other companies' services, for tests of jobs that never do.

import type { HostLookup } from '../host-lookup.ts';
import type { HandlerParts } from './handler.ts';

export const testAcme: HandlerParts['acme'] = {
  directoryUrl: 'https://authority.example.test/directory',
  caPem: '',
  email: '',
  binding: null,
  register: () => Promise.resolve('no authority in this test'),
  probe: () => Promise.resolve(false),
  readRenewalInfo: (_, identifiers) => Promise.resolve(identifiers.map(() => null)),
};

export const testDns: HandlerParts['dns'] = {
  change: () => Promise.resolve(null),
  isShown: () => Promise.resolve(true),
};

/** Refuses every lookup. */
export const testHostLookup: HostLookup = { lookUp: () => Promise.reject(new Error('nothing is looked up here')) };
