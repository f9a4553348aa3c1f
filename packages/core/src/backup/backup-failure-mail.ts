// Text of the mail about a scheduled backup that failed.
interface BackupFailureMail {
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly string[];
  readonly action?: { readonly label: string; readonly url: string };
}

/** Returns the mail for one recipient; without a public URL it has no link. */
export function backupFailureMail({
  failure,
  to,
  organizationSlug,
  publicUrl,
}: {
  readonly failure: string;
  readonly to: string;
  readonly organizationSlug: string;
  readonly publicUrl: string | null;
}): BackupFailureMail {
  const url = `${publicUrl}/${organizationSlug}/settings/control-plane`;
  return {
    to,
    subject: 'The backup of your control plane failed',
    paragraphs: [failure, 'You get no other email about this until a scheduled backup succeeds again.'],
    ...(publicUrl === null ? {} : { action: { label: 'Open the control plane page', url } }),
  };
}
