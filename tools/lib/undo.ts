// What to end when a start fails or is over.
export type Undo = () => Promise<void>;

/** Last started, first ended; one that fails does not keep the others from ending. */
export async function undoAll(steps: readonly Undo[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps.toReversed()) await step().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw new AggregateError(failures, 'not everything ended cleanly');
}
