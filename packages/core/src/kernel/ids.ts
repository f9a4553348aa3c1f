// Owns nothing: gives the contract's id schemas the names that schema files here use, so they read alike.
export {
  appId as appIdSchema,
  deploymentId as deploymentIdSchema,
  domainId as domainIdSchema,
  enrolmentId as enrolmentIdSchema,
  environmentId as environmentIdSchema,
  instanceId as instanceIdSchema,
  memberId as memberIdSchema,
  organizationId as organizationIdSchema,
  projectId as projectIdSchema,
  releaseId as releaseIdSchema,
  runId as benchmarkRunIdSchema,
  serverId as serverIdSchema,
} from '@fairlead/contract/ids';
