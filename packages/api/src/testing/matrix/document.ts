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
  return `# Who may do what

This page is rendered from what every procedure declares; \`npm run check:tenancy\` calls each of them as everybody and
compares. Change the code, then write the page anew: \`npx vitest run src/permissions-document.test.ts -u\` in
\`packages/api\`.

## Roles

A member has one role in the organization, and any number of further ones by grants: in the organization, in a project or
in an environment. What is allowed in the organization is allowed everywhere in it, and what is allowed in a project in its
environments. An organization can make roles of its own from every permission but those that only an owner holds. Nobody
gives or takes a role, or a permission of a role, that they do not hold there themselves; only an owner makes owners; the
last owner stays one.

${table(
  ['Permission', ...roles],
  permissionSchema.options.map((permission) => [
    `\`${permission}\``,
    ...roles.map((role) => (permissionsOf(role).includes(permission) ? 'yes' : '')),
  ]),
)}

## Protected environments

A deployment to a protected environment, also a redeploy and a rollback, stays queued until another member with
\`deployment.approve\` there approves it, or is cancelled when they refuse. Who asked for it cannot approve it, nor who
made the service account's token that asked, nor any token. What is approved is the branch, tag or commit that was asked for: a branch is built as it is when its turn
comes. Until it is built nobody changes the app's repository, root folder, start command or health path; its secrets are those
of the moment at which it is built. A newer deployment supersedes an approved one that still waits only when it is approved itself.
When protection is switched on, what waits in the queue already waits for approval too; when it is switched off,
what waits for approval goes on waiting.

Every other change that decides what visitors of a protected environment get, now or with the next deployment, needs
\`deployment.approve\` there beside its own permission. No token holds \`deployment.approve\`. All paths of a host are protected
together, because they share its name and its cookies. So no host leads to both a protected and an unprotected environment:
Fairlead refuses such a domain from everyone, and a change of protection that would split a host. The table shows how each
mutation treats a protected environment:

${table(
  ['Mutation', 'In a protected environment'],
  procedures
    .filter(({ type, access }) => type === 'mutation' && isOfMembers(access))
    .map((each) => [`\`${each.path}\``, protectionOf(each)]),
)}

## Procedures

"Granted on" is how narrow a grant may be that opens the procedure. A list that "shows what lies there" answers everybody who
holds its permission anywhere, with the rows that their role and grants cover and no other. A row that belongs to another organization is answered
like one that does not exist. A "fresh session" is one whose person confirmed their identity within the last fifteen minutes. An
API token needs only the permission.

${table(
  ['Procedure', 'Kind', 'Needs', 'Granted on', 'Roles that have it'],
  procedures.map((each) => [`\`${each.path}\``, each.type, needs(each), grantedOn(each), holders(each)]),
)}

## Routes

Beside its pages the web app answers to these, and to nothing else.

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
  return lists === true ? `${places}: shows what lies there` : places;
}

function needs({ access, alsoNeeds, fresh }: DeclaredProcedure): string {
  if (access === 'public') return 'nothing';
  if (access === 'signed_in') return 'a session';
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
