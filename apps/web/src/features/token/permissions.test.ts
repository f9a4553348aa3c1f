import { parseId } from '@fairlead/contract/ids';
import { expect, test } from 'vitest';
import { groupsOf, readRanges, scopesOf } from './permissions.ts';

test('permissions are grouped by feature, with the labels and the order of roles', () => {
  expect(groupsOf(['server.read', 'app.write', 'app.read'])).toEqual([
    {
      title: 'Apps',
      permissions: [
        { permission: 'app.read', label: 'See apps' },
        { permission: 'app.write', label: 'Create and change apps' },
      ],
    },
    { title: 'Servers', permissions: [{ permission: 'server.read', label: 'See servers' }] },
  ]);
});

test('ranges may be on separate lines or between commas', () => {
  expect(readRanges(' 10.0.0.0/8,\n 2001:db8::1  ')).toEqual(['10.0.0.0/8', '2001:db8::1']);
  expect(readRanges(' ')).toEqual([]);
});

test('a token is limited to an environment or to a project as a whole', () => {
  const [projectId, environmentId] = [parseId('prj', `prj_${'0'.repeat(20)}`), parseId('env', `env_${'0'.repeat(20)}`)];
  const project = { id: projectId, name: 'Shop', environments: [{ id: environmentId, name: 'Production' }] };
  expect(scopesOf([project])).toEqual([
    { value: environmentId, label: 'Shop / Production', input: { environmentId } },
    { value: projectId, label: 'Project Shop', input: { projectId } },
  ]);
});
