// What a person can put right: the message is a sentence and is all that is printed.
export class SeedError extends Error {
  override readonly name = 'SeedError';
}
