// Schemas of source credentials. Private keys and passwords go in and never come out.
import { appIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';

export const credentialKindSchema = z.enum(['ssh', 'https', 'registry']);
export type CredentialKind = z.infer<typeof credentialKindSchema>;

export const credentialSchema = z.object({
  kind: credentialKindSchema,
  /** Only host, with its port, that gets the password; for https and registry. Empty: no host gets it. */
  host: z.string(),
  /** User name; for https and registry only. */
  username: z.string(),
  /** For ssh only: one line to add as a read-only deploy key at the host of the repository. */
  publicKey: z.string(),
  /** For ssh only: known_hosts lines that the server must match. Empty: trust on first use. */
  knownHosts: z.string(),
  createdAt: z.date(),
});
export type CredentialView = z.infer<typeof credentialSchema>;

export const credentialsOfSchema = z.object({ appId: appIdSchema });
export type CredentialsOf = z.infer<typeof credentialsOfSchema>;
export const credentialListSchema = z.object({ items: z.array(credentialSchema) });
export type CredentialList = z.infer<typeof credentialListSchema>;

const line = (max: number) =>
  z
    .string()
    .max(max)
    .regex(/^[^\0\r\n]*$/, 'This has no line breaks.');

/** Makes a new key for the app; an older one opens nothing any more. */
export const rotateKeyInputSchema = credentialsOfSchema.extend({
  knownHosts: z
    .string()
    .max(16_384)
    .regex(/^[^\0]*$/)
    .default(''),
});
export type RotateKeyInput = z.infer<typeof rotateKeyInputSchema>;

const sourceHostSchema = z
  .string()
  .trim()
  .toLowerCase()
  .max(300)
  .regex(
    /^(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/,
    'Enter a host such as git.example.com. Add the port if it is not the default.',
  );

/**
 * The password goes to `host` only. It has no default, because a member without a right to passwords may have changed the app's
 * source to another host.
 */
export const updateCredentialInputSchema = credentialsOfSchema.extend({
  kind: z.enum(['https', 'registry']),
  host: sourceHostSchema,
  username: line(200).min(1, 'Enter the user name.'),
  password: line(4096).min(1, 'Enter the password or token.'),
});
export type UpdateCredentialInput = z.infer<typeof updateCredentialInputSchema>;

export const credentialRefSchema = credentialsOfSchema.extend({ kind: credentialKindSchema });
export type CredentialRef = z.infer<typeof credentialRefSchema>;
