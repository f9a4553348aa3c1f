// Clean-up steps for a start that failed or is over.
export type Undo = () => Promise<void>;

/** Runs the steps in reverse order; a failed step does not prevent the others. */
export async function undoAll(steps: readonly Undo[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps.toReversed()) await step().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw new AggregateError(failures, 'not everything ended cleanly');
}
