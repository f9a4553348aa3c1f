// Text of the test email that operators send to themselves.
export function testMail({ to, publicUrl }: { readonly to: string; readonly publicUrl: string }) {
  return {
    to,
    subject: 'Test email from Fairlead',
    paragraphs: ['Your control plane can send email. You sent this from its control plane page.'],
    action: { label: 'Open the dashboard', url: publicUrl },
  };
}
