import { expect, test } from 'vitest';
import { pathsOf } from '../../common/organization/paths.ts';
import { hrefOfGroup, hrefOfItem } from './attention-paths.ts';

const paths = pathsOf('acme');
const item = { appSlug: null, environmentId: null, deploymentId: null, serverId: null, certificateId: null };

test('a group leads to the list that shows exactly what it counts', () => {
  const cause = { kind: 'deployment_failed', cause: 'build.command_failed', projectId: undefined } as const;
  expect(hrefOfGroup(paths, cause)).toBe('/acme/deployments?attention=deployment_failed&cause=build.command_failed');
  expect(hrefOfGroup(paths, { kind: 'server_offline', projectId: undefined })).toBe(
    '/acme/servers?attention=server_offline',
  );
  expect(hrefOfGroup(paths, { kind: 'secret_expiring', projectId: undefined })).toBeNull();
});

test('a project narrows the list, but not that of servers, which are counted in all projects', () => {
  const projectId = 'prj_1' as NonNullable<Parameters<typeof hrefOfGroup>[1]['projectId']>;
  expect(hrefOfGroup(paths, { kind: 'app_unhealthy', projectId })).toBe(
    '/acme/apps?attention=app_unhealthy&project=prj_1',
  );
  expect(hrefOfGroup(paths, { kind: 'disk_short', projectId })).toBe('/acme/servers?attention=disk_short');
});

test('an entry leads to its own page', () => {
  const [appSlug, environmentId] = ['shop', 'env_1'] as [
    string,
    NonNullable<Parameters<typeof hrefOfItem>[1]['environmentId']>,
  ];
  expect(hrefOfItem(paths, { ...item, appSlug, environmentId, secretScope: null })).toBe(
    '/acme/apps/shop?environment=env_1',
  );
  expect(hrefOfItem(paths, { ...item, appSlug, environmentId, secretScope: 'app' })).toBe(
    '/acme/apps/shop/variables?environment=env_1',
  );
  expect(hrefOfItem(paths, { ...item, secretScope: 'group' })).toBe('/acme/settings/secrets');
});
