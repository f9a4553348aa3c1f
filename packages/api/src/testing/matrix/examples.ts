// Inputs of procedures for the matrix: made from the schema, or written here where a schema does not express what a call needs.
import { importableDocument } from '@fairlead/core/testing';
import type { DeclaredProcedure } from './declared.ts';
import { type IdPool, type Sample, samplesOf } from './sample.ts';

export function samplesFor({ path, input }: DeclaredProcedure, own: IdPool): Sample[] {
  return examples[path]?.(own) ?? (input === null ? [{ value: undefined, ids: [] }] : samplesOf(input, own));
}

/** Inputs with parts that must match in a way that a schema does not express. */
type Examples = Readonly<Record<string, (own: IdPool) => Sample[]>>;

const examples: Examples = {
  // Has few parts, because a call that needs several permissions is refused for each. Other tests check each part.
  'app.create': (own) => {
    const plain = { name: 'Matrix', source: gitSource, serverIds: [own.get('srv')], firstDeploy: 'none' };
    const server = { path: ['serverIds', 0], kind: 'srv' };
    return [
      { value: plain, ids: [server] },
      {
        value: { ...plain, environmentId: own.get('env') },
        ids: [server, { path: ['environmentId'], kind: 'env' }],
      },
      {
        value: { ...plain, settings: { buildServerId: own.get('srv') } },
        ids: [server, { path: ['settings', 'buildServerId'], kind: 'srv' }],
      },
      { value: { ...plain, domain: { host: 'new.example.test' } }, ids: [server] },
      { value: { ...plain, settings: { privateNetwork: true } }, ids: [server] },
    ];
  },
  'app.addEnvironment': (own) => {
    const environment = { kind: 'existing', environmentId: own.get('env') };
    const plain = { appId: own.get('app'), environment, serverIds: [own.get('srv')], firstDeploy: 'none' };
    const ids = [
      { path: ['appId'], kind: 'app' },
      { path: ['environment', 'environmentId'], kind: 'env' },
      { path: ['serverIds', 0], kind: 'srv' },
    ];
    const release = { path: ['firstDeploy', 'releaseId'], kind: 'rel' };
    return [
      { value: plain, ids },
      { value: { ...plain, firstDeploy: { releaseId: own.get('rel') } }, ids: [...ids, release] },
    ];
  },
  // Authorities that parse are long, and TLS 1.3 alone needs an agent that can require it.
  'domain.updateTls': (own) => [
    { value: { domainId: own.get('dom'), minTlsVersion: '1.2' }, ids: [{ path: ['domainId'], kind: 'dom' }] },
  ],
  // Without the number of the newest version: a sample of it is outdated, so that nothing would change.
  'config.restore': (own) => [
    { value: { appId: own.get('app'), number: 1 }, ids: [{ path: ['appId'], kind: 'app' }] },
    {
      value: { appId: own.get('app'), environmentId: own.get('env'), number: 1 },
      ids: [
        { path: ['appId'], kind: 'app' },
        { path: ['environmentId'], kind: 'env' },
      ],
    },
  ],
  // They take deleted apps only.
  'app.restore': (own) => [deletedApp(own)],
  'app.purge': (own) => [deletedApp(own, { confirmName: 'matrix' })],
  'github.startRegistration': () => [{ value: { owner: 'acme' }, ids: [] }],
  'github.inspectRepository': (own) => [githubRepository(own)],
  'github.linkRepository': (own) => {
    const { value, ids } = githubRepository(own);
    return [{ value: { ...value, appId: own.get('app') }, ids: [...ids, { path: ['appId'], kind: 'app' }] }];
  },
  // A slug of its own: a slug that is taken is reported, as a host name is.
  'organization.update': () => [{ value: { name: 'Matrix', slug: 'matrix-of-permissions' }, ids: [] }],
  // A sample without addresses or with another name changes nothing.
  'server.updateAddresses': (own) => [
    { value: { serverId: own.get('srv'), addresses: ['203.0.113.7'] }, ids: [{ path: ['serverId'], kind: 'srv' }] },
  ],
  'domain.updateBase': (own) => [
    {
      value: { serverId: own.get('srv'), baseDomain: 'apps.example.test' },
      ids: [{ path: ['serverId'], kind: 'srv' }],
    },
  ],
  // The PROXY protocol needs a proxy that speaks it.
  'server.updateProxy': (own) => [
    { value: { serverId: own.get('srv'), proxy: { http3: false } }, ids: [{ path: ['serverId'], kind: 'srv' }] },
  ],
  'secret.update': (own) =>
    (['app', 'scg'] as const).map((kind) => {
      const key = kind === 'app' ? 'appId' : 'groupId';
      return {
        value: { owner: { [key]: own.get(kind) }, items: secretItems },
        ids: [{ path: ['owner', key], kind }],
      };
    }),
  // A made-up benchmark gate has thresholds that can't hold.
  'config.update': (own) => [
    ...placed(own, { settings: { releasesKept: 7 } }),
    ...placed(own, { settings: { releasesKept: 7, privateNetwork: true } }),
  ],
  // A made-up plan combines what can't be measured together.
  'benchmark.create': (own) => [
    ...placed(own, { plan: {} }),
    {
      value: { appId: own.get('app'), plan: { targets: ['proxy'] }, loadServerIds: [own.get('srv')] },
      ids: [
        { path: ['appId'], kind: 'app' },
        { path: ['loadServerIds', 0], kind: 'srv' },
      ],
    },
  ],
  'benchmarkPlan.create': (own) => [
    ...placed(own, { name: 'Matrix', plan: {} }),
    {
      value: { appId: own.get('app'), name: 'Load', plan: { targets: ['proxy'] }, loadServerIds: [own.get('srv')] },
      ids: [
        { path: ['appId'], kind: 'app' },
        { path: ['loadServerIds', 0], kind: 'srv' },
      ],
    },
  ],
  'benchmarkPlan.upload': (own) => placed(own, { document: { format: 'fairlead-plan-1', name: 'Matrix', plan: {} } }),
  'benchmarkPlan.update': (own) => [
    {
      value: { planId: own.get('bpl'), version: 1, name: 'Matrix again', plan: {} },
      ids: [{ path: ['planId'], kind: 'bpl' }],
    },
    {
      value: { planId: own.get('bpl'), version: 1, plan: { targets: ['proxy'] }, loadServerIds: [own.get('srv')] },
      ids: [
        { path: ['planId'], kind: 'bpl' },
        { path: ['loadServerIds', 0], kind: 'srv' },
      ],
    },
  ],
  'benchmark.import': (own) => [
    { value: { appId: own.get('app'), document: importableDocument() }, ids: [{ path: ['appId'], kind: 'app' }] },
    {
      value: { appId: own.get('app'), environmentId: own.get('env'), document: importableDocument() },
      ids: [
        { path: ['appId'], kind: 'app' },
        { path: ['environmentId'], kind: 'env' },
      ],
    },
  ],
  // A made-up text is no time zone.
  'benchmarkPlan.updateSchedule': (own) => [
    {
      value: { planId: own.get('bpl'), version: 1, schedule: { weekday: null, hour: 3, timeZone: 'UTC' } },
      ids: [{ path: ['planId'], kind: 'bpl' }],
    },
  ],
  // A period has both times or none.
  'metric.app': appMetric,
  'metric.routes': appMetric,
  'metric.server': (own) => [
    { value: { serverId: own.get('srv'), range: '1h' }, ids: [{ path: ['serverId'], kind: 'srv' }] },
  ],
  // Without secrets, which need further permissions: other tests check them.
  'variable.update': (own) => [
    { value: { appId: own.get('app'), plain: plainVariables }, ids: [{ path: ['appId'], kind: 'app' }] },
    {
      value: { appId: own.get('app'), environmentId: own.get('env'), plain: plainVariables },
      ids: [
        { path: ['appId'], kind: 'app' },
        { path: ['environmentId'], kind: 'env' },
      ],
    },
  ],
  'variable.copy': (own) => [
    {
      value: {
        appId: own.get('app'),
        fromEnvironmentId: own.get('env'),
        environmentId: own.get('env'),
        plain: ['MATRIX_NAME'],
      },
      ids: [
        { path: ['appId'], kind: 'app' },
        { path: ['fromEnvironmentId'], kind: 'env' },
        { path: ['environmentId'], kind: 'env' },
      ],
    },
  ],
  'grant.create': (own) =>
    (['environment', 'project'] as const).map((kind) => {
      const key = `${kind}Id`;
      const prefix = kind === 'environment' ? 'env' : 'prj';
      return {
        value: { memberId: own.get('mem'), role: own.get('rol'), scope: { kind, [key]: own.get(prefix) } },
        ids: [
          { path: ['memberId'], kind: 'mem' },
          { path: ['role'], kind: 'rol' },
          { path: ['scope', key], kind: prefix },
        ],
      };
    }),
};

function appMetric(own: IdPool): Sample[] {
  const value = { appId: own.get('app'), range: '1h' };
  const app = { path: ['appId'], kind: 'app' };
  return [
    { value, ids: [app] },
    {
      value: { ...value, environmentId: own.get('env') },
      ids: [app, { path: ['environmentId'], kind: 'env' }],
    },
  ];
}

const gitSource = { kind: 'git', repositoryUrl: 'https://git.example.test/matrix.git' };

// A new secret needs a value, which the schema cannot express for an optional field.
const secretItems = [{ name: 'MATRIX_NAME', value: 'matrix' }];

const plainVariables = [{ name: 'MATRIX_NAME', value: 'matrix' }];

function deletedApp(own: IdPool, more: object = {}): Sample {
  return { value: { appId: own.get('deletedApp'), ...more }, ids: [{ path: ['appId'], kind: 'deletedApp' }] };
}

/** Repository of `insertOrganizationRows`. */
function githubRepository(own: IdPool) {
  const value = { installationId: own.get('ghi'), repositoryId: 1 };
  return { value, ids: [{ path: ['installationId'], kind: 'ghi' }] };
}

/** Inputs of an app, in its primary environment and in a named one. */
function placed(own: IdPool, more: object): Sample[] {
  const app = { path: ['appId'], kind: 'app' } as const;
  const value = { appId: own.get('app'), ...more };
  return [
    { value, ids: [app] },
    {
      value: { ...value, environmentId: own.get('env') },
      ids: [app, { path: ['environmentId'], kind: 'env' }],
    },
  ];
}
