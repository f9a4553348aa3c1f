// Registry of this gateway's connections and their servers. Invariant: one server has at most one open session; a newer
// one ends the older.

import type { LinkErrorCode } from '@fairlead/contract/errors';
import { type HandshakeLimits, makeRoom } from './handshake-share.ts';
import type { AgentSession } from './session.ts';
import type { Version } from './version.ts';

export interface SessionRegistry {
  /** `network` is the client's, which has a share of the unauthenticated connections; null if unknown. */
  add(session: AgentSession, network: string | null): void;
  open(session: AgentSession, serverId: string): void;
  announce(serverId: string, version: Version): void;
  /** Returns the open session of a server that is connected here. */
  find(serverId: string): AgentSession | null;
  /** Ends the session of a server that was deleted. */
  endServer(serverId: string): void;
  readonly serverIds: readonly string[];
  /**
   * True if one more unauthenticated connection of that network may open. Closes another unauthenticated one if it has
   * to; never one of an agent that has proved its identity.
   */
  makeRoom(network: string | null, limits: HandshakeLimits): boolean;
  tick(): void;
  /** Ends every session; resolves when all of them are finished. */
  endAll(code: LinkErrorCode): Promise<void>;
}

/** `onGone` is called when a server's session ended and no newer one replaced it. */
export function createSessionRegistry(onGone: (serverId: string) => void): SessionRegistry {
  const sessions = new Set<AgentSession>();
  /** Networks of unauthenticated sessions, oldest first. */
  const unauthenticated = new Map<AgentSession, string | null>();
  const byServer = new Map<string, AgentSession>();

  return {
    add: (session, network) => {
      sessions.add(session);
      unauthenticated.set(session, network);
      session.finished.finally(() => {
        sessions.delete(session);
        unauthenticated.delete(session);
        for (const [serverId, current] of byServer) {
          if (current !== session) continue;
          byServer.delete(serverId);
          onGone(serverId);
        }
      });
    },
    open: (session, serverId) => {
      const older = byServer.get(serverId);
      byServer.set(serverId, session);
      unauthenticated.delete(session);
      older?.end('link.replaced');
    },
    announce: (serverId, version) => byServer.get(serverId)?.announce(version),
    find: (serverId) => byServer.get(serverId) ?? null,
    endServer: (serverId) => byServer.get(serverId)?.end('link.server_unknown'),
    get serverIds() {
      return [...byServer.keys()];
    },
    makeRoom: (network, limits) => {
      const pending = [...unauthenticated].map(([session, from]) => ({
        session,
        network: from,
        isSilent: session.isSilent,
      }));
      const closed = makeRoom(pending, network, limits);
      for (const { session } of closed ?? []) {
        unauthenticated.delete(session);
        session.drop();
      }
      return closed !== null;
    },
    tick: () => {
      for (const session of sessions) session.tick();
    },
    endAll: async (code) => {
      for (const session of sessions) session.end(code);
      await Promise.all([...sessions].map((session) => session.finished));
    },
  };
}
