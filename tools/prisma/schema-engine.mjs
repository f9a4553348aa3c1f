#!/usr/bin/env node
// Stand-in for Prisma's native `schema-engine`: speaks the CLI's JSON-RPC over
// stdio, backed by @prisma/schema-engine-wasm and the pg driver adapter.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import pg from 'pg';
import { Factory, parseUrl } from './pg-migration-adapter.mjs';

const require = createRequire(import.meta.url);
const argv = process.argv.slice(2);
const datamodels = [];
let datasource = {};
let cli = null;
let wantVersion = false;
for (let i = 0; i < argv.length; i++) {
  if (argv[i] === '--datamodels') datamodels.push([argv[i + 1], readFileSync(argv[++i], 'utf8')]);
  else if (argv[i] === '--datasource') datasource = JSON.parse(argv[++i]);
  else if (argv[i] === '--enabled-preview-features' || argv[i] === '--extension-types') i++;
  else if (argv[i] === '--version') wantVersion = true;
  else if (argv[i] === 'cli') cli = argv[++i];
}

const log = (level, message, extra = {}) =>
  process.stderr.write(
    `${JSON.stringify({
      timestamp: new Date().toISOString(),
      level,
      target: 'schema_engine::logger',
      fields: { message, ...extra },
    })}\n`,
  );

async function loadWasm() {
  const dir = dirname(require.resolve('@prisma/schema-engine-wasm'));
  const bg = await import(resolve(dir, 'schema_engine_bg.js'));
  const { instance } = await WebAssembly.instantiate(readFileSync(resolve(dir, 'schema_engine_bg.wasm')), {
    './schema_engine_bg.js': bg,
  });
  bg.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start();
  return bg;
}

async function withAdmin(url, fn) {
  const { config } = parseUrl(url);
  const c = new pg.Client({ ...config, database: 'postgres' });
  await c.connect();
  try {
    return await fn(c, config.database);
  } finally {
    await c.end();
  }
}

async function createDatabase(url) {
  return withAdmin(url, async (c, db) => {
    await c.query(`CREATE DATABASE "${db}"`);
    return { databaseName: db };
  });
}

if (wantVersion) {
  const bg = await loadWasm();
  console.log(`schema-engine-wasm ${bg.version()}`);
  process.exit(0);
}
if (cli) {
  log('INFO', `Starting schema engine CLI`); // the Prisma CLI discards the first line of stderr
  try {
    if (cli === 'can-connect-to-database') {
      const { config } = parseUrl(datasource.url);
      const c = new pg.Client(config);
      await c.connect();
      await c.end();
      process.stdout.write('Connection successful\n');
    } else if (cli === 'create-database') await createDatabase(datasource.url);
    else if (cli === 'drop-database')
      await withAdmin(datasource.url, (c, db) => c.query(`DROP DATABASE IF EXISTS "${db}" WITH (FORCE)`));
    else throw new Error(`unknown cli command ${cli}`);
    process.exit(0);
  } catch (e) {
    const { config } = parseUrl(datasource.url);
    const code = e.code === '3D000' ? 'P1003' : e.code === '28P01' || e.code === '28000' ? 'P1000' : 'P1001';
    const msg =
      code === 'P1003'
        ? `Database \`${config.database}\` does not exist on the database server at \`${config.host}:${config.port}\`.`
        : code === 'P1000'
          ? `Authentication failed against the database server at \`${config.host}\`.`
          : `Can't reach database server at \`${config.host}:${config.port}\` (${e.message || e.code})`;
    log('ERROR', msg, { error_code: code, is_panic: false });
    process.exit(1);
  }
}

let enginePromise;
const engine = () =>
  (enginePromise ??= (async () => {
    const bg = await loadWasm();
    return bg.SchemaEngine.new(
      { datamodels: datamodels.length ? datamodels : undefined },
      (m) => {
        if (process.env.SCHEMA_ENGINE_DEBUG) process.stderr.write(`${String(m)}\n`);
      },
      bindMigrationAwareSqlAdapterFactory(new Factory(datasource)),
    );
  })());

const send = (o) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...o })}\n`);
async function handle({ id, method, params }) {
  try {
    let result;
    if (method === 'createDatabase') result = await createDatabase(params.datasource?.url ?? datasource.url);
    else if (method === 'getDatabaseVersion') result = await (await engine()).version(params);
    else {
      const e = await engine();
      if (typeof e[method] !== 'function')
        throw Object.assign(new Error(`method ${method} is not available in the wasm schema engine`), {});
      result = await e[method](params ?? {});
      if (method === 'diff' && result?.stdout) {
        send({ id: 1e9 + id, method: 'print', params: { content: result.stdout } });
      }
    }
    send({ id, result: result ?? {} });
  } catch (err) {
    if (process.env.SCHEMA_ENGINE_DEBUG) console.error(err);
    send({
      id,
      error: {
        code: 4466,
        message: err.message,
        data: { is_panic: false, message: err.message, meta: err.meta ?? {}, error_code: err.code ?? null },
      },
    });
  }
}
let chain = Promise.resolve();
createInterface({ input: process.stdin })
  .on('line', (l) => {
    if (!l.trim()) return;
    const m = JSON.parse(l);
    if (m.method) chain = chain.then(() => handle(m));
  })
  .on('close', () => chain.then(() => process.exit(0)));
