// Names for the API's input and output types. Types only: no code of the router reaches the browser.
import type { AppRouter } from '@fairlead/api';
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server';

export type Outputs = inferRouterOutputs<AppRouter>;
export type Inputs = inferRouterInputs<AppRouter>;

export type Me = Outputs['session']['me'];
export type AppSummary = Outputs['app']['list']['items'][number];
export type DeletedApp = Outputs['app']['listDeleted']['items'][number];
export type AppDetail = Outputs['app']['get'];
export type DeploymentSummary = Outputs['deployment']['list']['items'][number];
export type DeploymentDetail = Outputs['deployment']['get'];
export type ServerSummary = Outputs['server']['list']['items'][number];
export type ServerDetail = Outputs['server']['get'];
export type AppMetric = Outputs['metric']['app'];
export type RouteMetric = Outputs['metric']['routes']['routes'][number];
export type ServerMetric = Outputs['metric']['server'];
export type BenchmarkSummary = Outputs['benchmark']['list']['items'][number];
export type BenchmarkDetail = Outputs['benchmark']['get'];
export type AppSecrets = Outputs['secret']['list'];
export type SecretView = AppSecrets['secrets'][number];
export type SecretGroup = Outputs['secret']['listGroups'][number];
export type SecretOwner = Inputs['secret']['update']['owner'];
export type Environment = Outputs['environment']['list']['items'][number];
export type Project = Outputs['project']['list']['items'][number];
export type Overview = Outputs['overview']['get'];
export type ControlPlaneState = Outputs['controlPlane']['get'];
export type Range = Inputs['metric']['app']['range'];
export type SourceBranches = Outputs['source']['branches'];
export type Config = Outputs['config']['get'];
export type Settings = Config['settings'];
export type SettingsChange = Inputs['config']['update']['settings'];
export type DomainDetail = Outputs['domain']['get'];
export type Release = Outputs['release']['list']['items'][number];
export type Volume = Outputs['volume']['list']['items'][number];
export type Credential = Outputs['credential']['list']['items'][number];
export type LogFilter = Inputs['log']['search'];
export type LogLine = Outputs['log']['search']['lines'][number];
