// Inputs of procedures for the matrix: made from the schema, or written here where a schema does not express what a call needs.
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
  // They take deleted apps only.
  'app.restore': (own) => [deletedApp(own)],
  'app.purge': (own) => [deletedApp(own, { confirmName: 'matrix' })],
  // A slug of its own: a slug that is taken is reported, as a host name is.
  'organization.update': () => [{ value: { name: 'Matrix', slug: 'matrix-of-permissions' }, ids: [] }],
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

const gitSource = { kind: 'git', repositoryUrl: 'https://git.example.test/matrix.git' };

// A new secret needs a value, which the schema cannot express for an optional field.
const secretItems = [{ name: 'MATRIX_NAME', value: 'matrix' }];

function deletedApp(own: IdPool, more: object = {}): Sample {
  return { value: { appId: own.get('deletedApp'), ...more }, ids: [{ path: ['appId'], kind: 'deletedApp' }] };
}
