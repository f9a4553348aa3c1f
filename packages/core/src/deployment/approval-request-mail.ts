// Text of the mail about a deployment that waits for approval. Pure.
import type { ApprovalRequest } from './record-approval-request.ts';

interface ApprovalRequestMail {
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly string[];
  readonly action?: { readonly label: string; readonly url: string };
}

/** Returns the mail for one recipient; without a public URL it has no link. */
export function approvalRequestMail(
  request: ApprovalRequest,
  { to, publicUrl }: { readonly to: string; readonly publicUrl: string | null },
): ApprovalRequestMail {
  const { organizationName, organizationSlug, deploymentId, number, appName, environmentName, commit } = request;
  return {
    to,
    subject: `${appName} waits for your approval to deploy to ${environmentName}`,
    paragraphs: [
      `${request.requesterName ?? 'Fairlead'} requested deployment ${number} of ${appName} to ${environmentName} in ${organizationName}.`,
      `${commit}.`,
      'It starts when you or another member approves it.',
    ],
    ...(publicUrl === null
      ? {}
      : {
          action: { label: 'Review deployment', url: `${publicUrl}/${organizationSlug}/deployments/${deploymentId}` },
        }),
  };
}
