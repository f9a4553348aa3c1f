// Calls of the mutations on GitHub Apps and repositories.
import { connectGithub, installAtGithub, registerAtGithub, startGithub } from '../connect-github.ts';
import type { AuditCall } from './audit-call.ts';
import { type AuditStage, auditInputs } from './inputs.ts';

export function githubCalls(stage: AuditStage) {
  const { caller, newApp } = auditInputs(stage);
  const connected = async () => {
    const fake = await startGithub();
    const [account] = fake.state.accounts;
    if (account === undefined) throw new Error('the fake GitHub has no account');
    const { id: repositoryId } = fake.addRepository(account, 'shop');
    return { fake, repositoryId, ...(await connectGithub(caller(), fake)) };
  };
  const ref = async () => ({ githubAppId: (await connected()).githubAppId });
  return {
    // A redirect; what comes of it has an event.
    'github.startRegistration': { action: null, input: async () => ({ owner: 'acme' }) },
    'github.startInstall': { action: null, input: ref },
    'github.completeRegistration': {
      action: 'github.register_app',
      input: async () => registerAtGithub(caller(), await startGithub()),
    },
    'github.completeInstall': {
      action: 'github.record_installation',
      input: async () => {
        const { fake, githubAppId } = await connected();
        return installAtGithub(fake, (await caller().github.startInstall({ githubAppId })).url);
      },
    },
    // A copy of what GitHub says.
    'github.sync': { action: null, input: ref },
    'github.updateWebhook': { action: 'github.update_webhook', input: ref },
    'github.deleteApp': { action: 'github.delete_app', input: ref },
    'github.linkRepository': {
      action: 'github.link_repository',
      input: async () => {
        const { installationId, repositoryId } = await connected();
        return { appId: (await newApp()).appId, installationId, repositoryId };
      },
    },
  } as const satisfies Readonly<Record<string, AuditCall>>;
}
