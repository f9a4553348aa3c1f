// Bounded queue between a pushing source and a pulling reader. A slow reader loses the oldest events and is notified
// once, so memory stays bounded.

export interface EventQueue<Event> {
  push(event: Event): void;
  /** Ends the stream after the queued events. */
  end(): void;
  /** Ends the stream with this error. */
  fail(error: unknown): void;
  read(): AsyncGenerator<Event, void>;
}

export function createEventQueue<Event>(eventsMax: number, onOverflow: () => readonly Event[]): EventQueue<Event> {
  let events: Event[] = [];
  let overflowed = false;
  let ended = false;
  let failure: { readonly error: unknown } | null = null;
  let wake: (() => void) | null = null;

  const awaken = () => {
    wake?.();
    wake = null;
  };

  return {
    push(event) {
      if (ended) return;
      if (events.length >= eventsMax) {
        events.shift();
        overflowed = true;
      }
      events.push(event);
      awaken();
    },
    end() {
      ended = true;
      awaken();
    },
    fail(error) {
      failure ??= { error };
      ended = true;
      awaken();
    },
    async *read() {
      while (true) {
        if (overflowed) {
          overflowed = false;
          yield* onOverflow();
        }
        const batch = events;
        events = [];
        yield* batch;
        if (events.length > 0) continue;
        if (failure !== null) throw failure.error;
        if (ended) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
