// Error with a remedy for the user: only its message, a sentence, is printed.
export class SeedError extends Error {
  override readonly name = 'SeedError';
}
