// Schemas of the first start: the one-time token that makes the first account the owner.
import { z } from 'zod';
import { nameSchema } from '../kernel/text.ts';

export const setupStatusSchema = z.object({ needed: z.boolean() });

export const claimSetupInputSchema = z.object({
  token: z.string().trim().min(1, 'Paste the setup token from the terminal.').max(200),
  name: nameSchema,
  email: z.email('Enter an email address.').max(254).toLowerCase(),
  password: z
    .string()
    .min(12, 'Choose a password of at least 12 characters.')
    .max(128, 'A password has at most 128 characters.'),
});
export type ClaimSetupInput = z.infer<typeof claimSetupInputSchema>;

export const claimSetupOutputSchema = z.object({ organizationSlug: z.string() });
