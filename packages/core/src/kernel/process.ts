// Schemas of programs with arguments, health paths and the names of processes and volumes. They reach servers, where a
// shell reads a line only if it needs one.
import { z } from 'zod';
import { commandOf } from './command.ts';

export const healthPathSchema = z
  .string()
  .trim()
  .max(500)
  .regex(
    /^(?:\/[\x21-\x7e]*)?$/,
    'A health path starts with / and has no spaces; leave it empty to check the port only.',
  );

const lineLengthMax = 4000;
const wordsSchema = z
  .array(
    z
      .string()
      .min(1)
      .max(lineLengthMax)
      .regex(/^[^\0\r\n]*$/, 'An argument has no line breaks.'),
  )
  .max(50);

/** Program and arguments, as a list or as the line that people write; empty: what the builder detects. */
export const commandSchema = lineOr(wordsSchema);
export const namedCommandSchema = lineOr(wordsSchema.min(1, 'Name a program.'));

function lineOr<Words extends z.ZodType<string[], string[]>>(words: Words) {
  const line = z
    .string()
    .max(lineLengthMax)
    .regex(/^[^\0\r\n]*$/);
  return z.union([line.transform(commandOf).pipe(words), words], {
    error: `A command is one line of at most ${lineLengthMax.toLocaleString('en')} characters, or a list of words.`,
  });
}

/** It becomes the name of a folder. */
export const plainNameSchema = z
  .string()
  .trim()
  .max(40, 'A name has at most 40 characters.')
  .regex(/^[a-z0-9][a-z0-9-]*$/, 'A name has lower-case letters, digits and dashes.');
