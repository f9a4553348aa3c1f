// Registry of this gateway's connections and their servers. Invariant: one server has at most one open session; a newer
// one ends the older.

import type { LinkErrorCode } from '@fairlead/contract/errors';
import type { AgentSession } from './session.ts';
import type { Version } from './version.ts';

export interface SessionRegistry {
  add(session: AgentSession): void;
  open(session: AgentSession, serverId: string): void;
  announce(serverId: string, version: Version): void;
  /** Returns the open session of a server that is connected here. */
  find(serverId: string): AgentSession | null;
  /** Ends the session of a server that was deleted. */
  endServer(serverId: string): void;
  readonly serverIds: readonly string[];
  /**
   * True if one more unauthenticated connection may open. At `unauthenticatedMax` it closes the one that was silent longest:
   * a real agent authenticates within two round trips.
   */
  makeRoom(unauthenticatedMax: number): boolean;
  tick(): void;
  /** Ends every session; resolves when all of them are finished. */
  endAll(code: LinkErrorCode): Promise<void>;
}

/** `onGone` is called when a server's session ended and no newer one replaced it. */
export function createSessionRegistry(onGone: (serverId: string) => void): SessionRegistry {
  const sessions = new Set<AgentSession>();
  const unauthenticated = new Set<AgentSession>();
  const byServer = new Map<string, AgentSession>();

  return {
    add: (session) => {
      sessions.add(session);
      unauthenticated.add(session);
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
    makeRoom: (unauthenticatedMax) => {
      if (unauthenticated.size < unauthenticatedMax) return true;
      // A Set keeps insertion order.
      const longest = [...unauthenticated].find((session) => session.isSilent);
      if (longest === undefined) return false;
      unauthenticated.delete(longest);
      longest.drop();
      return true;
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
