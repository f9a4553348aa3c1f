// Text of the mail about secrets that expire soon. Pure; it names secrets and never holds a value.
import type { SecretReminder } from './list-expiring-secrets.ts';

interface SecretReminderMail {
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly string[];
  readonly action?: { readonly label: string; readonly url: string };
}

/** Returns the mail for one recipient; without a public URL it has no link. */
export function secretReminderMail(
  { organizationName, organizationSlug, secrets }: SecretReminder,
  { to, publicUrl }: { readonly to: string; readonly publicUrl: string | null },
): SecretReminderMail {
  const lines = secrets.map(
    ({ name, ownerName, expiresAt }) => `${name} of ${ownerName} expires on ${expiresAt.toISOString().slice(0, 10)}.`,
  );
  return {
    to,
    subject: `${secrets.length === 1 ? 'A secret expires' : `${secrets.length} secrets expire`} soon in ${organizationName}`,
    paragraphs: [...lines, 'Rotate them at their providers, then set the new values in Fairlead.'],
    ...(publicUrl === null ? {} : { action: { label: 'Open Fairlead', url: `${publicUrl}/${organizationSlug}` } }),
  };
}
