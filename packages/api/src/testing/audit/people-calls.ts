// Calls of the mutations on people and what they hold: members, invitations, roles, grants, tokens, organizations.
import { planOrders } from '@fairlead/core/certificate';
import { createMailer } from '@fairlead/mail';
import { newFailedJob } from '../failed-job.ts';
import { newTestFeed } from '../test-feed.ts';
import type { AuditCall } from './audit-call.ts';
import { type AuditStage, auditInputs } from './inputs.ts';

export function peopleCalls(stage: AuditStage) {
  const {
    caller,
    newRole,
    newAccount,
    newMember,
    newGrant,
    newInvitation,
    newInvitationToken,
    newOrganization,
    setOwner,
  } = auditInputs(stage);
  /** Marks the organization as the one that was set up, so that its owner is an operator. */
  const operate = () =>
    stage.api.world.system(({ tx }) => {
      const { organizationId } = stage.api.world;
      const data = { id: 'stk_used', organizationId, tokenHash: 'used', usedAt: stage.api.world.clock.now() };
      return tx.setupToken.upsert({ where: { id: data.id }, create: data, update: {} });
    });
  const useFeed = async () => {
    const feed = await newTestFeed();
    Object.assign(stage.api.parts.config.controlPlane, { updates: feed.facts });
    return feed;
  };
  let domains = 0;
  /** Adds a domain of the dashboard, and removes those of former calls: it has only a few. */
  const newDomain = async () => {
    await operate();
    await stage.api.world.system(({ tx }) => tx.dashboardDomain.deleteMany());
    domains += 1;
    return caller().dashboardDomain.add({ host: `panel-${domains}.example.test` });
  };
  return {
    'dashboardDomain.add': {
      action: 'control_plane.add_domain',
      input: async () => {
        await operate();
        return { host: 'panel.example.test' };
      },
    },
    'dashboardDomain.delete': { action: 'control_plane.delete_domain', input: newDomain },
    'dashboardDomain.verify': { action: null, input: newDomain },
    'dashboardDomain.retry': {
      action: 'certificate.retry',
      input: async () => {
        const domain = await newDomain();
        await stage.api.world.tenant((ctx) =>
          planOrders(ctx, stage.api.world.keys, { directoryUrl: 'https://authority.example.test/directory' }),
        );
        return domain;
      },
    },
    'grant.create': { action: 'grant.create', input: () => newGrant() },
    'grant.delete': {
      action: 'grant.delete',
      input: async () => ({ grantId: (await caller().grant.create(await newGrant())).grantId }),
    },
    'controlPlane.sendTestMail': {
      action: 'control_plane.send_test_mail',
      input: async () => {
        await operate();
        // Nothing listens there: the failure is recorded too.
        const mail = createMailer({ url: 'smtp://127.0.0.1:1', from: 'fairlead@example.test' });
        Object.assign(stage.api.parts, { mail });
      },
      after: async () => void Object.assign(stage.api.parts, { mail: null }),
    },
    'controlPlane.startBackup': { action: 'control_plane.start_backup', input: operate },
    'controlPlane.checkUpdate': {
      action: 'control_plane.check_update',
      input: async () => {
        await operate();
        await useFeed();
      },
    },
    'controlPlane.startUpdate': {
      action: 'control_plane.start_update',
      input: async () => {
        await operate();
        const { version } = await useFeed();
        await caller().controlPlane.checkUpdate();
        return { version };
      },
    },
    'controlPlane.retryJob': {
      action: 'control_plane.retry_job',
      input: async () => {
        await operate();
        return { jobId: await newFailedJob(stage.api.db) };
      },
    },
    'invitation.create': { action: 'invitation.create', input: async () => ({ role: 'viewer' }) },
    'invitation.rotate': {
      action: 'invitation.rotate',
      input: async () => {
        const { invitationId } = await newInvitation();
        // A second one is not sent immediately.
        stage.api.world.clock.forward(60_000);
        return { invitationId };
      },
    },
    'invitation.revoke': { action: 'invitation.revoke', input: () => newInvitation() },
    'invitation.read': { action: null, input: () => newInvitationToken() },
    'invitation.accept': {
      action: 'invitation.accept',
      input: async () => {
        stage.other = await stage.api.signUp(`Guest${++stage.made}`, null);
        return newInvitationToken();
      },
      by: () => stage.other,
    },
    'invitation.claim': {
      action: 'invitation.accept',
      asStranger: true,
      input: async () => ({
        ...(await newInvitationToken()),
        name: 'Newcomer',
        email: 'newcomer@example.test',
        password: 'correct horse battery',
      }),
    },
    'member.update': { action: 'member.update', input: async () => ({ ...(await newMember()), role: 'developer' }) },
    'member.delete': { action: 'member.delete', input: () => newMember() },
    'organization.create': {
      action: 'organization.create',
      input: async () => ({ name: 'Second' }),
      logOf: (answer) => (answer as { id: string }).id,
    },
    'organization.update': {
      action: 'organization.update',
      input: async () => ({ name: 'Acme Ltd' }),
      after: () => caller().organization.update({ name: 'acme' }),
    },
    'organization.transfer': {
      action: 'organization.transfer',
      input: async () => ({ ...(await newMember()), confirmName: 'acme' }),
      after: () => setOwner(),
    },
    'organization.delete': {
      action: 'organization.delete',
      input: () => newOrganization(),
      at: () => stage.elsewhere,
    },
    'organization.restore': {
      action: 'organization.restore',
      input: async () => {
        const deletion = await newOrganization();
        await stage.api.caller(stage.owner.cookie, stage.elsewhere.slug).organization.delete(deletion);
      },
      at: () => stage.elsewhere,
    },
    'organization.leave': {
      action: 'organization.leave',
      input: async () => {
        await newMember();
        return { organizationId: stage.api.world.organizationId };
      },
      by: () => stage.other,
    },
    'role.create': { action: 'role.create', input: async () => ({ name: 'Reader', permissions: ['app.read'] }) },
    'role.update': { action: 'role.update', input: async () => ({ ...(await newRole()), name: 'Renamed' }) },
    'role.delete': { action: 'role.delete', input: () => newRole() },
    'serviceAccount.create': {
      action: 'service_account.create',
      input: async () => ({ name: 'Pipeline', role: 'deployer' }),
    },
    'serviceAccount.update': {
      action: 'service_account.update',
      input: async () => ({ ...(await newAccount('Updated')), role: 'viewer' }),
    },
    'serviceAccount.delete': {
      action: 'service_account.delete',
      input: async () => ({ ...(await newAccount('Deleted')), confirmName: 'Deleted' }),
    },
    'serviceAccount.createToken': {
      action: 'token.create',
      input: async () => ({ ...(await newAccount('Holder')), name: 'Nightly', permissions: ['app.read'] }),
    },
    'serviceAccount.revokeToken': {
      action: 'token.revoke',
      input: async () => {
        const account = await newAccount('Loser');
        const token = { ...account, name: 'Lost', permissions: ['app.read' as const] };
        return { tokenId: (await caller().serviceAccount.createToken(token)).id };
      },
    },
    'token.create': { action: 'token.create', input: async () => ({ name: 'Laptop', permissions: ['app.read'] }) },
    'token.revoke': {
      action: 'token.revoke',
      input: async () => ({ tokenId: (await caller().token.create({ name: 'Old', permissions: ['app.read'] })).id }),
    },
    'member.revokeToken': {
      action: 'token.revoke',
      input: async () => ({ tokenId: (await caller().token.create({ name: 'Leaked', permissions: ['app.read'] })).id }),
    },
  } satisfies Readonly<Record<string, AuditCall>>;
}
