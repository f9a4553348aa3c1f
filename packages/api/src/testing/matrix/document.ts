// Renders docs/permissions.md from the declared matrix. A test fails if the page differs.
import { permissionSchema, permissionsOf, roleSchema } from '@fairlead/core/role';
import { apiRouter } from '../../router.ts';
import { type DeclaredProcedure, declaredProcedures, isOfMembers } from './declared.ts';
import { declaredRoutes } from './routes.ts';

const grains: Readonly<Record<string, string>> = {
  organization: 'organization',
  project: 'organization or project',
  environment: 'organization, project or environment',
  anywhere: 'organization, or any project or environment',
};

export function renderPermissions(): string {
  const procedures = declaredProcedures(apiRouter);
  const roles = roleSchema.options;
  return `# Permissions

This page lists the permissions of each role, and the permission that each procedure of the API needs. It is generated from the
code, and \`npm run check:tenancy\` compares it with the answers of the API. To update it, run
\`npx vitest run src/permissions-document.test.ts -u\` in \`packages/api\`.

## Roles

A member has one role in the organization. Grants add roles in the organization, in a project or in an environment. A role in
the organization also applies to its projects, and a role in a project to its environments.

- An organization can define roles of its own. They can have every permission except those that only an owner has.
- You can't give or take a role, or a permission of a role, that you don't have there yourself.
- Only owners make owners, and the last owner stays one.

${table(
  ['Permission', ...roles],
  permissionSchema.options.map((permission) => [
    `\`${permission}\``,
    ...roles.map((role) => (permissionsOf(role).includes(permission) ? 'yes' : '')),
  ]),
)}

## Protected environments

A deployment to a protected environment waits in the queue until another member with \`deployment.approve\` there approves it. So
does a redeploy and a rollback. A rejection cancels the deployment.

- **Approvers.** These can't approve a deployment: the member who asked for it, the member who created the service account's token
  that asked for it, and every API token.
- **Subject of an approval.** An approval is for a branch, a tag or a commit. A branch is built as it is when its turn comes. The
  secrets are those of that moment.
- **Until the build**, the app's repository, root folder, start command and health path can't be changed.
- **Newer deployments** supersede an approved one that still waits only when they are approved themselves.
- **Turning protection on** also makes the deployments in the queue wait for approval. After protection is turned off, deployments
  that wait for approval keep waiting.

Other changes that affect what visitors of a protected environment get need \`deployment.approve\` there beside their own
permission. No token has \`deployment.approve\`. The paths of a host share its name and its cookies. So a host can't lead to both a
protected and an unprotected environment: Fairlead rejects such a domain, and a change of protection that would split a host.

${table(
  ['Mutation', 'In a protected environment'],
  procedures
    .filter(({ type, access }) => type === 'mutation' && isOfMembers(access))
    .map((each) => [`\`${each.path}\``, protectionOf(each)]),
)}

## Procedures

- **Granted on**: the narrowest grant that is enough. With "only rows of the grant", a list shows the rows that the caller's role
  and grants cover.
- **Fresh session**: the person confirmed their identity within the last fifteen minutes. An API token needs only the permission.
- **Operator**: an owner of the organization that was set up with the setup token, signed in to that organization. An API token
  never is one, and other organizations have none.
- A row of another organization gets the same response as one that does not exist.

${table(
  ['Procedure', 'Kind', 'Needs', 'Granted on', 'Roles that have it'],
  procedures.map((each) => [`\`${each.path}\``, each.type, needs(each), grantedOn(each), holders(each)]),
)}

## Routes

The web app serves its pages and these routes, and nothing else.

${table(
  ['Route', 'Methods', 'For'],
  Object.entries(declaredRoutes).map(([file, { methods, who }]) => [
    `\`/${file.replace(/\/route\.ts$/, '')}\``,
    methods.join(', '),
    who,
  ]),
)}
`;
}

function grantedOn({ grain, lists }: DeclaredProcedure): string {
  const places = grains[grain ?? ''] ?? '';
  return lists === true ? `${places}: only rows of the grant` : places;
}

function needs({ access, alsoNeeds, fresh }: DeclaredProcedure): string {
  if (access === 'public') return 'nothing';
  if (access === 'signed_in') return 'a session';
  if (access === 'operator') return 'to be an operator';
  const permission = alsoNeeds === undefined ? `\`${access}\`` : `\`${access}\`; ${alsoNeeds.words}`;
  return fresh === true ? `${permission}, fresh session` : permission;
}

function protectionOf({ path, protection }: DeclaredProcedure): string {
  switch (protection?.kind) {
    case 'approval':
      return protection.words;
    case 'approver':
      return `needs \`deployment.approve\` ${protection.words}`;
    case 'open':
      return `open: ${protection.words}`;
    case undefined:
      throw new TypeError(`${path} does not declare how a protected environment is safe from it`);
  }
}

function holders({ access }: DeclaredProcedure): string {
  if (!isOfMembers(access)) return '';
  return roleSchema.options.filter((role) => permissionsOf(role).includes(access)).join(', ');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
