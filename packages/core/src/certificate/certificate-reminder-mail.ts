// Text of the mail about certificates that expire soon. Pure.
import type { CertificateReminder } from './record-reminders.ts';

interface CertificateReminderMail {
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly string[];
  readonly action?: { readonly label: string; readonly url: string };
}

/** Returns the mail for one recipient; without a public URL it has no link. */
export function certificateReminderMail(
  { organizationName, organizationSlug, certificates, now }: CertificateReminder,
  { to, publicUrl }: { readonly to: string; readonly publicUrl: string | null },
): CertificateReminderMail {
  const lines = certificates.map(({ name, notAfter, failure }) => {
    const verb = notAfter > now ? 'expires' : 'expired';
    const day = notAfter.toISOString().slice(0, 10);
    return failure === null
      ? `The uploaded certificate of ${name} ${verb} on ${day}. Fairlead can't renew it: upload a new one.`
      : `The certificate of ${name} ${verb} on ${day}, and its renewal fails: ${failure}`;
  });
  const [only] = certificates;
  const what =
    certificates.length === 1 && only !== undefined
      ? `The certificate of ${only.name} expires soon`
      : `${certificates.length} certificates expire soon`;
  return {
    to,
    subject: `${what} in ${organizationName}`,
    paragraphs: [...lines, 'Visitors to these domains see a security warning once the certificate has expired.'],
    ...(publicUrl === null
      ? {}
      : {
          action: { label: 'Open certificates', url: `${publicUrl}/${organizationSlug}/certificates?state=attention` },
        }),
  };
}
