// A single-connection driver adapter for Prisma's wasm schema engine. The stock
// @prisma/adapter-pg is a pool, splits scripts at every ';' and does not know "char".
import { ColumnTypeEnum as C, DriverAdapterError } from '@prisma/driver-adapter-utils';
import pg from 'pg';

const TYPES = new Map([
  [16, C.Boolean],
  [17, C.Bytes],
  [18, C.Character],
  [19, C.Text],
  [20, C.Int64],
  [21, C.Int32],
  [23, C.Int32],
  [25, C.Text],
  [26, C.Int64],
  [114, C.Json],
  [3802, C.Json],
  [700, C.Float],
  [701, C.Double],
  [1042, C.Text],
  [1043, C.Text],
  [1082, C.Date],
  [1083, C.Time],
  [1114, C.DateTime],
  [1184, C.DateTime],
  [1700, C.Numeric],
  [2950, C.Uuid],
  [1000, C.BooleanArray],
  [1002, C.CharacterArray],
  [1003, C.TextArray],
  [1005, C.Int32Array],
  [22, C.Int32Array],
  [1007, C.Int32Array],
  [1016, C.Int64Array],
  [1028, C.Int64Array],
  [1009, C.TextArray],
  [1015, C.TextArray],
]);
const iso = (t) => `${t.replace(' ', 'T').replace(/[+-]\d{2}(:\d{2})?$/, '')}+00:00`;
const PARSERS = {
  20: (v) => v,
  26: (v) => v,
  1114: iso,
  1184: iso,
  1082: (v) => v,
  1083: (v) => v,
  114: (v) => v,
  3802: (v) => v,
  1700: (v) => v,
  22: (v) => v.split(' ').filter(Boolean).map(Number),
};
const types = { getTypeParser: (oid, format) => PARSERS[oid] ?? pg.types.getTypeParser(oid, format) };

function wrap(e) {
  if (e?.code === '3D000')
    return new DriverAdapterError({
      kind: 'DatabaseDoesNotExist',
      db: /"([^"]+)"/.exec(e.message)?.[1],
      originalCode: e.code,
      originalMessage: e.message,
    });
  if (e?.code === 'ECONNREFUSED' || e?.code === 'ENOTFOUND')
    return new DriverAdapterError({ kind: 'DatabaseNotReachable', host: e.address ?? e.hostname, port: e.port });
  if (e?.code && e?.severity) {
    return new DriverAdapterError({
      kind: 'postgres',
      code: e.code,
      severity: e.severity,
      message: e.message,
      detail: e.detail,
      column: e.column,
      hint: e.hint,
      originalCode: e.code,
      originalMessage: e.message,
    });
  }
  return e;
}

class Queryable {
  provider = 'postgres';
  adapterName = '@prisma/adapter-pg';
  constructor(client, schema) {
    this.client = client;
    this.schema = schema;
  }
  async io({ sql, args }) {
    try {
      return await this.client.query({ text: sql, values: args, rowMode: 'array', types });
    } catch (e) {
      throw wrap(e);
    }
  }
  async queryRaw(q) {
    const { fields, rows } = await this.io(q);
    return {
      columnNames: fields.map((f) => f.name),
      columnTypes: fields.map((f) => TYPES.get(f.dataTypeID) ?? (f.dataTypeID >= 16384 ? C.Enum : C.Text)),
      rows,
    };
  }
  async executeRaw(q) {
    return (await this.io(q)).rowCount ?? 0;
  }
  async executeScript(script) {
    try {
      await this.client.query(script);
    } catch (e) {
      throw wrap(e);
    }
  }
}
class Tx extends Queryable {
  options = { usePhantomQuery: false };
  async commit() {}
  async rollback() {}
}
export class Adapter extends Queryable {
  constructor(client, schema, onDispose) {
    super(client, schema);
    this.onDispose = onDispose;
  }
  async startTransaction(level) {
    await this.executeScript(level ? `BEGIN ISOLATION LEVEL ${level}` : 'BEGIN');
    return new Tx(this.client, this.schema);
  }
  getConnectionInfo() {
    return { schemaName: this.schema, supportsRelationJoins: true };
  }
  async dispose() {
    await this.client.end();
    await this.onDispose?.();
  }
}

export function parseUrl(url) {
  const u = new URL(url);
  const ssl = u.searchParams.get('sslmode');
  return {
    schema: u.searchParams.get('schema') ?? undefined,
    config: {
      host: u.searchParams.get('host') ?? decodeURIComponent(u.hostname || 'localhost'),
      port: u.port ? Number(u.port) : 5432,
      user: decodeURIComponent(u.username) || undefined,
      password: decodeURIComponent(u.password) || undefined,
      database: decodeURIComponent(u.pathname.slice(1)) || undefined,
      ssl: ssl && !['disable', 'prefer', 'allow'].includes(ssl) ? { rejectUnauthorized: ssl !== 'require' } : undefined,
      options: '-c TimeZone=UTC',
      application_name: 'prisma-migrate',
    },
  };
}
async function open(config, schema, onDispose) {
  const client = new pg.Client(config);
  try {
    await client.connect();
  } catch (e) {
    throw wrap(e);
  }
  client.on('error', () => {});
  return new Adapter(client, schema, onDispose);
}
export class Factory {
  provider = 'postgres';
  adapterName = '@prisma/adapter-pg';
  constructor(ds) {
    this.ds = ds;
  }
  connect() {
    const { config, schema } = parseUrl(this.ds.url);
    return open(config, schema);
  }
  async connectToShadowDb() {
    const { config, schema } = parseUrl(this.ds.shadowDatabaseUrl ?? this.ds.url);
    if (this.ds.shadowDatabaseUrl) return open(config, schema);
    const database = `prisma_migrate_shadow_db_${crypto.randomUUID()}`;
    const admin = await open(config, schema);
    await admin.executeScript(`CREATE DATABASE "${database}"`);
    return open({ ...config, database }, schema, async () => {
      await admin.executeScript(`DROP DATABASE IF EXISTS "${database}" WITH (FORCE)`);
      await admin.dispose();
    });
  }
}
