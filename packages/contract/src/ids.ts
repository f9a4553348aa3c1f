// Ids of everything that is stored or sent: a prefix that names the kind, then 20 random letters and digits.
// Safe in paths, URLs and logs. Must never carry meaning beyond the prefix: no time, no counter, no owner.
import { z } from 'zod';

const idKinds = {
  org: 'organization',
  usr: 'user',
  mem: 'member',
  aud: 'audit event',
  evt: 'event of an account',
  inv: 'invitation',
  rol: 'custom role',
  grt: 'grant of a role on a project or an environment',
  apv: 'approval of a deployment',
  tok: 'API token',
  sva: 'service account',
  sec: 'secret',
  scg: 'shared group of secrets',
  scv: 'version of a secret',
  scs: 'snapshot of secret versions',
  dek: 'data key',
  stk: 'setup token',
  prj: 'project',
  env: 'environment',
  app: 'app',
  plc: 'placement of an app in an environment',
  srv: 'server',
  enr: 'server enrolment',
  aro: 'agent rollout',
  key: 'signing key',
  rel: 'release',
  dep: 'deployment',
  stp: 'deployment step',
  lgc: 'log chunk',
  ins: 'instance',
  dom: 'domain',
  run: 'benchmark run',
  row: 'benchmark row',
  rpt: 'published benchmark report',
  bpl: 'saved benchmark plan',
  cfg: 'version of settings',
  art: 'artifact in the store',
  vol: 'volume',
  vtk: 'task on a volume: a snapshot or a restore',
  vmv: 'move of an app with its volumes',
  crd: 'credential of a source',
  crt: 'certificate',
  ucr: 'uploaded certificate',
  cev: 'event of a certificate',
  cky: 'key of a certificate or of an account at a certificate authority',
  aca: 'account at a certificate authority',
  aco: 'order at a certificate authority',
  dnp: 'DNS provider',
  dnr: 'DNS record of an order',
  bak: 'backup of the control plane',
  dlv: 'delivery of a webhook',
  pdc: 'decision about a push',
  prv: 'preview of a pull request',
  pvd: 'decision about a pull request',
  whk: 'webhook of an app',
  gac: "person's account at GitHub",
  gha: 'registration of a GitHub App',
  ghi: 'installation of a GitHub App',
  prf: 'proof of a host name',
  dsd: 'domain of the dashboard',
} as const;

export type IdPrefix = keyof typeof idKinds;
/** A string that was made by `newId` or checked by `parseId` or a schema of this file. */
export type Id<P extends IdPrefix> = string & { readonly idPrefix: P };

export type OrganizationId = Id<'org'>;
export type MemberId = Id<'mem'>;
export type ProjectId = Id<'prj'>;
export type EnvironmentId = Id<'env'>;
export type AppId = Id<'app'>;
export type PlacementId = Id<'plc'>;
export type ServerId = Id<'srv'>;
export type EnrolmentId = Id<'enr'>;
export type AgentRolloutId = Id<'aro'>;
export type SigningKeyId = Id<'key'>;
export type ReleaseId = Id<'rel'>;
export type DeploymentId = Id<'dep'>;
export type InstanceId = Id<'ins'>;
export type CertificateId = Id<'crt'>;
export type UploadedCertificateId = Id<'ucr'>;
export type DomainId = Id<'dom'>;
export type DashboardDomainId = Id<'dsd'>;
export type RunId = Id<'run'>;
export type ReportId = Id<'rpt'>;
export type BenchmarkPlanId = Id<'bpl'>;
export type CustomRoleId = Id<'rol'>;
export type GrantId = Id<'grt'>;
export type InvitationId = Id<'inv'>;
export type SecretId = Id<'sec'>;
export type SecretGroupId = Id<'scg'>;
export type SecretSnapshotId = Id<'scs'>;
export type ConfigId = Id<'cfg'>;
export type BackupId = Id<'bak'>;
export type VolumeId = Id<'vol'>;
export type DeliveryId = Id<'dlv'>;
export type PreviewId = Id<'prv'>;
export type AppWebhookId = Id<'whk'>;
export type GithubAppId = Id<'gha'>;
export type GithubInstallationId = Id<'ghi'>;
export type VolumeTaskId = Id<'vtk'>;
export type VolumeMoveId = Id<'vmv'>;

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 20;
// The largest multiple of 62 in a byte; bytes above it would favour the first letters.
const unbiasedBelow = 248;

/** Makes an id: about 119 random bits, so it is also unguessable. */
export function newId<P extends IdPrefix>(prefix: P): Id<P> {
  let random = '';
  const bytes = new Uint8Array(32);
  while (random.length < randomLength) {
    crypto.getRandomValues(bytes);
    for (const byte of bytes) {
      if (byte < unbiasedBelow && random.length < randomLength) random += alphabet[byte % alphabet.length];
    }
  }
  return `${prefix}_${random}` as Id<P>;
}

/** True if `value` has the form of an id of that kind. Agents and seeds may use other lengths than `newId`. */
export function isId<P extends IdPrefix>(prefix: P, value: string): value is Id<P> {
  return value.startsWith(`${prefix}_`) && /^[0-9A-Za-z]{1,64}$/.test(value.slice(prefix.length + 1));
}

/** Brands a stored or received id; throws when it is of another kind. */
export function parseId<P extends IdPrefix>(prefix: P, value: string): Id<P> {
  if (!isId(prefix, value))
    throw new TypeError(`expected the id of: ${idKinds[prefix]}, got: ${JSON.stringify(value.slice(0, 80))}`);
  return value;
}

function idSchema<P extends IdPrefix>(prefix: P) {
  return z
    .string()
    .refine((value): value is Id<P> => isId(prefix, value), `This is not the id it should be (${idKinds[prefix]}).`);
}

export const organizationIdSchema = idSchema('org');
export const memberIdSchema = idSchema('mem');
export const projectIdSchema = idSchema('prj');
export const environmentIdSchema = idSchema('env');
export const appIdSchema = idSchema('app');
export const serverIdSchema = idSchema('srv');
export const backupIdSchema = idSchema('bak');
export const enrolmentIdSchema = idSchema('enr');
export const agentRolloutIdSchema = idSchema('aro');
export const releaseIdSchema = idSchema('rel');
export const deploymentIdSchema = idSchema('dep');
export const instanceIdSchema = idSchema('ins');
export const domainIdSchema = idSchema('dom');
export const dashboardDomainIdSchema = idSchema('dsd');
export const certificateIdSchema = idSchema('crt');
export const uploadedCertificateIdSchema = idSchema('ucr');
export const dnsProviderIdSchema = idSchema('dnp');
export const runIdSchema = idSchema('run');
export const reportIdSchema = idSchema('rpt');
export const auditIdSchema = idSchema('aud');
export const tokenIdSchema = idSchema('tok');
export const serviceAccountIdSchema = idSchema('sva');
export const customRoleIdSchema = idSchema('rol');
export const grantIdSchema = idSchema('grt');
export const invitationIdSchema = idSchema('inv');
export const secretIdSchema = idSchema('sec');
export const secretGroupIdSchema = idSchema('scg');
export const secretSnapshotIdSchema = idSchema('scs');
export const configIdSchema = idSchema('cfg');
export const volumeIdSchema = idSchema('vol');
export const deliveryIdSchema = idSchema('dlv');
export const previewIdSchema = idSchema('prv');
export const appWebhookIdSchema = idSchema('whk');
export const githubAppIdSchema = idSchema('gha');
export const githubInstallationIdSchema = idSchema('ghi');
export const volumeTaskIdSchema = idSchema('vtk');
export const volumeMoveIdSchema = idSchema('vmv');
export const benchmarkPlanIdSchema = idSchema('bpl');
