'use client';
// Mail of the control plane, with a test email to the reader's own address.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { useToast } from '@fairlead/ui/toast';
import { useMutation } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { ControlPlaneState } from '../../api/types.ts';
import { Setting } from '../../common/form/setting.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';

export function MailCard({ mail }: Pick<ControlPlaneState, 'mail'>) {
  const { user } = useMe();
  const toast = useToast();
  const mutation = useMutation(useTRPC().controlPlane.sendTestMail.mutationOptions());
  const send = useAction(mutation, "The test email wasn't sent", ({ to, failure }) => {
    if (failure === null) toast({ title: 'Test email sent', detail: `The mail server accepted it for ${to}.` });
  });
  const failure = mutation.data?.failure ?? null;
  return (
    <Card id="email" className="scroll-mt-4">
      <CardHeader title="Email" />
      {mail === null ? (
        <p className="text-pretty border-line border-t px-4 py-4 text-ink-faint text-sm">
          No mail server is configured, so you share invitation links yourself and passwords can't be reset by email. To
          send email, set mail.smtp_url_file and mail.from in the settings file, then restart the control plane.
        </p>
      ) : (
        <Setting title={mail.from} detail={`A test email goes to ${user.email}.`}>
          <Button pending={send.pending} onClick={() => send.run(undefined)}>
            Send test email
          </Button>
        </Setting>
      )}
      {failure === null ? null : (
        <p role="alert" className="text-pretty break-words border-line border-t px-4 py-3 text-bad-text text-sm">
          {failure}
        </p>
      )}
    </Card>
  );
}
