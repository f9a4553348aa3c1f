// Between a source that pushes and a reader that pulls. Bounded: a reader that is too slow loses the oldest events and is
// told so once, instead of filling the memory of everybody.

export interface EventQueue<Event> {
  push(event: Event): void;
  /** Ends the reader after what is already in the queue. */
  end(): void;
  /** Ends the reader with this error. */
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
