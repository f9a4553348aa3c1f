// Cache of signed desired states by server, so that many syncs of one version cost one rendering. Invariant: a version
// is never signed with two contents, because the state and its version are read in one transaction.
import { toBinary } from '@bufbuild/protobuf';
import { type DesiredState, DesiredStateSchema } from '@fairlead/contract/agent';
import { signMessage, stateMessage } from '@fairlead/contract/signing';
import { isNewer, noVersion, type Version } from '../session/version.ts';
import type { SigningKey } from '../signing/key-store.ts';

export interface SignedStateBytes {
  readonly state: Uint8Array<ArrayBuffer>;
  readonly keyId: string;
  readonly signature: Uint8Array<ArrayBuffer>;
}

export interface StateCacheOptions {
  readonly key: SigningKey;
  readonly readVersion: (serverId: string) => Promise<Version>;
  readonly render: (serverId: string) => Promise<DesiredState>;
}

export interface StateCache {
  get(serverId: string): Promise<SignedStateBytes>;
  /** Drops the entry of a server that is no longer connected. */
  forget(serverId: string): void;
}

export function createStateCache(options: StateCacheOptions): StateCache {
  const { key } = options;
  const cached = new Map<string, { readonly version: Version; readonly signed: SignedStateBytes }>();

  return {
    get: async (serverId) => {
      const current = await options.readVersion(serverId);
      const known = cached.get(serverId);
      if (known !== undefined && !isNewer(current, known.version)) return known.signed;
      const rendered = await options.render(serverId);
      const state = new Uint8Array(toBinary(DesiredStateSchema, rendered));
      const signed = { state, keyId: key.keyId, signature: signMessage(key.privateKey, stateMessage(state)) };
      cached.set(serverId, { version: rendered.version ?? noVersion, signed });
      return signed;
    },
    forget: (serverId) => {
      cached.delete(serverId);
    },
  };
}
