import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import type { Me } from '../../api/types.ts';
import { MeProvider, MeScope, type Permission, useMe } from './me.tsx';

const scope = { projectId: 'prj_1', environmentId: 'env_1' };

function Allowed({ permissions }: { readonly permissions: readonly Permission[] }) {
  const { can } = useMe();
  return permissions.filter((permission) => can(permission)).join(' ');
}

function allowed(held: readonly Permission[], isProtected: boolean): string {
  const organization = { slug: 'acme', permissions: held, granted: [] } as unknown as Me['organizations'][number];
  return renderToStaticMarkup(
    <MeProvider me={{ user: {}, organizations: [organization] } as unknown as Me} organization={organization}>
      <MeScope scope={scope} isProtected={isProtected}>
        <Allowed permissions={['benchmark.write', 'deployment.write', 'domain.write']} />
      </MeScope>
    </MeProvider>,
  );
}

test('where an environment is protected, members without approval may deploy, but not benchmark or change domains', () => {
  const developer = ['benchmark.write', 'deployment.write', 'domain.write'] as const;
  expect(allowed(developer, false)).toBe('benchmark.write deployment.write domain.write');
  expect(allowed(developer, true)).toBe('deployment.write');
  expect(allowed([...developer, 'deployment.approve'], true)).toBe('benchmark.write deployment.write domain.write');
});
