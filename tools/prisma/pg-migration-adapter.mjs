// Driver adapter of our schema engine on one PostgreSQL connection, for the Prisma CLI only; the product never imports
// it. The stock @prisma/adapter-pg cannot migrate: it pools connections, splits scripts at every `;`, and does not know
// the catalogue types "char" and name.
import { randomUUID } from 'node:crypto';
import { ColumnTypeEnum, DriverAdapterError } from '@prisma/driver-adapter-utils';
import pg from 'pg';

// Object ids of built-in types are stable; the names are those of pg_type.
const columnTypes = new Map([
  [16, ColumnTypeEnum.Boolean], // bool
  [17, ColumnTypeEnum.Bytes], // bytea
  [18, ColumnTypeEnum.Character], // char
  [19, ColumnTypeEnum.Text], // name
  [20, ColumnTypeEnum.Int64], // int8
  [21, ColumnTypeEnum.Int32], // int2
  [22, ColumnTypeEnum.Int32Array], // int2vector
  [23, ColumnTypeEnum.Int32], // int4
  [25, ColumnTypeEnum.Text], // text
  [26, ColumnTypeEnum.Int64], // oid
  [114, ColumnTypeEnum.Json], // json
  [700, ColumnTypeEnum.Float], // float4
  [701, ColumnTypeEnum.Double], // float8
  [1000, ColumnTypeEnum.BooleanArray], // bool[]
  [1002, ColumnTypeEnum.CharacterArray], // char[]
  [1003, ColumnTypeEnum.TextArray], // name[]
  [1005, ColumnTypeEnum.Int32Array], // int2[]
  [1007, ColumnTypeEnum.Int32Array], // int4[]
  [1009, ColumnTypeEnum.TextArray], // text[]
  [1015, ColumnTypeEnum.TextArray], // varchar[]
  [1016, ColumnTypeEnum.Int64Array], // int8[]
  [1028, ColumnTypeEnum.Int64Array], // oid[]
  [1042, ColumnTypeEnum.Text], // bpchar
  [1043, ColumnTypeEnum.Text], // varchar
  [1082, ColumnTypeEnum.Date], // date
  [1083, ColumnTypeEnum.Time], // time
  [1114, ColumnTypeEnum.DateTime], // timestamp
  [1184, ColumnTypeEnum.DateTime], // timestamptz
  [1700, ColumnTypeEnum.Numeric], // numeric
  [2950, ColumnTypeEnum.Uuid], // uuid
  [3802, ColumnTypeEnum.Json], // jsonb
]);
const firstUserTypeId = 16384;

const asText = (text) => text;
// The session is in UTC, so every printed offset is zero.
const asIsoInstant = (text) => `${text.replace(' ', 'T').replace(/[+-]\d{2}(:\d{2})?$/, '')}+00:00`;
const asIntegers = (text) => text.split(' ').filter(Boolean).map(Number);

// Types that the engine wants as text, where pg would return numbers, dates or objects.
const parsers = new Map([
  [20, asText],
  [22, asIntegers],
  [26, asText],
  [114, asText],
  [1082, asText],
  [1083, asText],
  [1114, asIsoInstant],
  [1184, asIsoInstant],
  [1700, asText],
  [3802, asText],
]);
const types = { getTypeParser: (id, format) => parsers.get(id) ?? pg.types.getTypeParser(id, format) };

/** Converts a driver error to the engine's error format. */
function toAdapterError(error) {
  const { code, message, detail, column, hint, severity } = error;
  if (code === '3D000') {
    const db = /"([^"]+)"/.exec(message)?.[1];
    return new DriverAdapterError({ kind: 'DatabaseDoesNotExist', db, originalCode: code, originalMessage: message });
  }
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND') {
    return new DriverAdapterError({
      kind: 'DatabaseNotReachable',
      host: error.address ?? error.hostname,
      port: error.port,
    });
  }
  if (code === undefined || severity === undefined) return error;
  return new DriverAdapterError({
    kind: 'postgres',
    code,
    severity,
    message,
    detail,
    column,
    hint,
    originalCode: code,
    originalMessage: message,
  });
}

class Queryable {
  provider = 'postgres';
  adapterName = '@prisma/adapter-pg';

  constructor(client, schemaName) {
    this.client = client;
    this.schemaName = schemaName;
  }

  async query(query) {
    try {
      return await this.client.query(query);
    } catch (error) {
      throw toAdapterError(error);
    }
  }

  async queryRaw({ sql, args }) {
    const { fields, rows } = await this.query({ text: sql, values: args, rowMode: 'array', types });
    return {
      columnNames: fields.map((field) => field.name),
      columnTypes: fields.map(
        ({ dataTypeID: id }) =>
          columnTypes.get(id) ?? (id >= firstUserTypeId ? ColumnTypeEnum.Enum : ColumnTypeEnum.Text),
      ),
      rows,
    };
  }

  async executeRaw({ sql, args }) {
    const { rowCount } = await this.query({ text: sql, values: args, types });
    return rowCount ?? 0;
  }

  /** Sends the whole script in one message: PostgreSQL itself splits the statements. */
  async executeScript(script) {
    await this.query(script);
  }
}

class Transaction extends Queryable {
  options = { usePhantomQuery: false };
  // The engine sends COMMIT and ROLLBACK as scripts; these calls only notify that it has.
  async commit() {}
  async rollback() {}
}

class Connection extends Queryable {
  constructor(client, schemaName, afterDispose) {
    super(client, schemaName);
    this.afterDispose = afterDispose;
  }

  async startTransaction(isolationLevel) {
    await this.executeScript(isolationLevel === undefined ? 'BEGIN' : `BEGIN ISOLATION LEVEL ${isolationLevel}`);
    return new Transaction(this.client, this.schemaName);
  }

  getConnectionInfo() {
    return { schemaName: this.schemaName, supportsRelationJoins: true };
  }

  async dispose() {
    await this.client.end();
    await this.afterDispose?.();
  }
}

/** Parses a connection URL in Prisma's format: `schema`, `host` and `sslmode` may be parameters. */
export function parseUrl(text) {
  const url = new URL(text);
  const sslMode = url.searchParams.get('sslmode');
  const encrypted = sslMode !== null && !['disable', 'allow', 'prefer'].includes(sslMode);
  return {
    schemaName: url.searchParams.get('schema') ?? undefined,
    config: {
      host: url.searchParams.get('host') ?? decodeURIComponent(url.hostname || 'localhost'),
      port: url.port === '' ? 5432 : Number(url.port),
      user: decodeURIComponent(url.username) || undefined,
      password: decodeURIComponent(url.password) || undefined,
      database: decodeURIComponent(url.pathname.slice(1)) || undefined,
      // As in libpq, `require` only encrypts; the verify modes also check the certificate.
      ssl: encrypted ? { rejectUnauthorized: sslMode !== 'require' } : undefined,
      options: '-c TimeZone=UTC',
      application_name: 'prisma-migrate',
    },
  };
}

async function connect(config, schemaName, afterDispose) {
  const client = new pg.Client(config);
  // The next query reports a connection that broke between two queries.
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    throw toAdapterError(error);
  }
  return new Connection(client, schemaName, afterDispose);
}

export class MigrationAdapterFactory {
  provider = 'postgres';
  adapterName = '@prisma/adapter-pg';

  constructor(datasource) {
    this.datasource = datasource;
  }

  connect() {
    const { config, schemaName } = parseUrl(this.datasource.url);
    return connect(config, schemaName);
  }

  /**
   * Connects to an empty database for replaying migrations: the given one, or a temporary one that is dropped with the
   * connection.
   */
  async connectToShadowDb() {
    const given = this.datasource.shadowDatabaseUrl;
    const { config, schemaName } = parseUrl(given ?? this.datasource.url);
    if (given !== undefined && given !== null) return connect(config, schemaName);
    const database = `prisma_migrate_shadow_db_${randomUUID()}`;
    const maker = await connect(config, schemaName);
    await maker.executeScript(`CREATE DATABASE "${database}"`);
    return connect({ ...config, database }, schemaName, async () => {
      await maker.executeScript(`DROP DATABASE IF EXISTS "${database}" WITH (FORCE)`);
      await maker.dispose();
    });
  }
}
