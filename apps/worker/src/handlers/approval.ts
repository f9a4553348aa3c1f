// Job that emails members who may approve a deployment.
import { approvalRequestMail, recordApprovalRequest } from '@fairlead/core/deployment';
import type { Handler } from './handler.ts';

/** A failed mail is not sent again: the recipient's overview shows the request until it is decided. */
export const requestApprovalHandler: Handler<'deployment.request_approval'> = async (parts, payload) => {
  const { database, clock, log, mailer, publicUrl } = parts;
  const { organizationId, deploymentId } = payload;
  const request = await database.tenant(organizationId, (tx) =>
    recordApprovalRequest({ tx, organizationId, clock, log }, { deploymentId }),
  );
  if (request === null || mailer === null) return;
  for (const to of request.recipients) {
    await mailer
      .send(approvalRequestMail(request, { to, publicUrl }))
      .catch((error: unknown) => log.error({ err: error, deploymentId }, 'a request for approval was not sent'));
  }
};
