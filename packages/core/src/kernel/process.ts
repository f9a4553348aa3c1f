// Owns what the border accepts as programs with arguments, health paths and the names of processes and volumes: they reach
// servers, where no shell ever reads them.
import { z } from 'zod';

export const healthPathSchema = z
  .string()
  .trim()
  .max(500)
  .regex(
    /^(?:\/[\x21-\x7e]*)?$/,
    'A health path starts with / and has no spaces; leave it empty to check the port only.',
  );

/** Program and arguments, one list item each; empty: what the builder detects. */
export const commandSchema = z
  .array(
    z
      .string()
      .min(1)
      .max(1000)
      .regex(/^[^\0\r\n]*$/, 'An argument has no line breaks.'),
  )
  .max(50);

/** It becomes the name of a folder. */
export const plainNameSchema = z
  .string()
  .trim()
  .max(40, 'A name has at most 40 characters.')
  .regex(/^[a-z0-9][a-z0-9-]*$/, 'A name has lower-case letters, digits and dashes.');
