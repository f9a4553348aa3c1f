// Orders the output of concurrent stages: the first one prints live, the others wait until those before them have
// ended. Invariant: never drops output or mixes two stages.
export type Say = (text: string) => void;

export interface Speaker {
  readonly say: Say;
  /** Ends the speaker's output. */
  readonly end: () => void;
}

interface Turn {
  held: string;
  hasEnded: boolean;
}

/** Returns a function that adds a speaker. */
export function openScreen(show: Say): () => Speaker {
  const turns: Turn[] = [];
  const showNext = () => {
    while (turns[0]?.hasEnded) {
      turns.shift();
      const next = turns[0];
      if (next === undefined) return;
      show(next.held);
      next.held = '';
    }
  };
  return () => {
    const turn: Turn = { held: '', hasEnded: false };
    turns.push(turn);
    return {
      say: (text) => {
        if (turn === turns[0]) show(text);
        else turn.held += text;
      },
      end: () => {
        turn.hasEnded = true;
        showNext();
      },
    };
  };
}
