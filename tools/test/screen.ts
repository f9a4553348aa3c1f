// What stages beside each other say, for one reader: who began first is shown as it speaks, the others wait until those
// before them have ended. Must never drop a word or mix two speakers.
export type Say = (text: string) => void;

export interface Speaker {
  readonly say: Say;
  /** It has said all. */
  readonly end: () => void;
}

interface Turn {
  held: string;
  hasEnded: boolean;
}

/** Answers how a speaker takes its turn. */
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
