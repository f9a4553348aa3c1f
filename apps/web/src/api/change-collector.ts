// Throttles change notifications: reports the first one at once and later ones at most once an interval. Owns one timer
// and nothing else.

export interface ChangeCollector {
  add(kind: string): void;
  stop(): void;
}

export function createChangeCollector(
  everyMs: number,
  onChanges: (kinds: ReadonlySet<string>) => void,
): ChangeCollector {
  let waiting = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | null = null;

  const flush = () => {
    timer = null;
    if (waiting.size === 0) return;
    const kinds = waiting;
    waiting = new Set();
    timer = setTimeout(flush, everyMs);
    onChanges(kinds);
  };

  return {
    add(kind) {
      waiting.add(kind);
      if (timer === null) flush();
    },
    stop() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      waiting = new Set();
    },
  };
}
