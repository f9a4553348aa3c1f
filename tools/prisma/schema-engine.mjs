#!/usr/bin/env node
// Replaces Prisma's `schema-engine` binary, which npm does not provide, with the wasm engine from npm. Prisma's CLI
// starts it (prisma.config.ts) and speaks JSON-RPC over stdin and stdout, so nothing else may be printed to stdout.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import pg from 'pg';
import { MigrationAdapterFactory, parseUrl } from './pg-migration-adapter.mjs';

const debug = process.env.SCHEMA_ENGINE_DEBUG !== undefined;

function parseArguments(words) {
  const parsed = { datamodels: [], datasource: {}, command: null, wantsVersion: false };
  const queue = [...words];
  for (let word = queue.shift(); word !== undefined; word = queue.shift()) {
    if (word === '--version') parsed.wantsVersion = true;
    else if (word === 'cli') parsed.command = queue.shift();
    else if (word === '--datasource') parsed.datasource = JSON.parse(queue.shift());
    else if (word === '--datamodels') {
      const path = queue.shift();
      parsed.datamodels.push([path, readFileSync(path, 'utf8')]);
    } else if (word === '--enabled-preview-features' || word === '--extension-types') queue.shift();
  }
  return parsed;
}

async function loadEngine() {
  const require = createRequire(import.meta.url);
  const folder = dirname(require.resolve('@prisma/schema-engine-wasm'));
  const bindings = await import(join(folder, 'schema_engine_bg.js'));
  const { instance } = await WebAssembly.instantiate(readFileSync(join(folder, 'schema_engine_bg.wasm')), {
    './schema_engine_bg.js': bindings,
  });
  bindings.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start();
  return bindings;
}

// ---------------------------------------------------------------------------------------------- administration

/** Creates and drops databases from a database that every server has. */
async function administer(url, statementFor) {
  const { config } = parseUrl(url);
  const client = new pg.Client({ ...config, database: 'postgres' });
  await client.connect();
  try {
    await client.query(statementFor(pg.escapeIdentifier(config.database)));
  } finally {
    await client.end();
  }
  return config.database;
}

const createDatabase = (url) => administer(url, (name) => `CREATE DATABASE ${name}`);
const dropDatabase = (url) => administer(url, (name) => `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);

async function canConnect(url) {
  const client = new pg.Client(parseUrl(url).config);
  await client.connect();
  await client.end();
  process.stdout.write('Connection successful\n');
}

const commands = {
  'can-connect-to-database': canConnect,
  'create-database': createDatabase,
  'drop-database': dropDatabase,
};

/** Writes a log line to stderr in the CLI's format. */
function writeLog(level, message, fields = {}) {
  const line = {
    timestamp: new Date().toISOString(),
    level,
    target: 'schema_engine::logger',
    fields: { message, ...fields },
  };
  process.stderr.write(`${JSON.stringify(line)}\n`);
}

/** Returns Prisma's error code and message for a connection failure. */
function explainConnectFailure(error, url) {
  const { database, host, port } = parseUrl(url).config;
  if (error.code === '3D000') {
    return ['P1003', `Database \`${database}\` does not exist on the database server at \`${host}:${port}\`.`];
  }
  if (error.code === '28P01' || error.code === '28000') {
    return ['P1000', `Authentication failed against the database server at \`${host}\`.`];
  }
  return ['P1001', `Can't reach database server at \`${host}:${port}\` (${error.message || error.code})`];
}

async function runCommand(name, url) {
  // The CLI drops the first line of stderr.
  writeLog('INFO', 'Starting schema engine CLI');
  const command = commands[name];
  if (command === undefined) throw new Error(`unknown command of the schema engine: ${name}`);
  try {
    await command(url);
    return 0;
  } catch (error) {
    const [code, message] = explainConnectFailure(error, url);
    writeLog('ERROR', message, { error_code: code, is_panic: false });
    return 1;
  }
}

// ---------------------------------------------------------------------------------------------- JSON-RPC

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

function createAnswerer({ datamodels, datasource }) {
  let opened = null;

  async function open() {
    const { SchemaEngine } = await loadEngine();
    return SchemaEngine.new(
      { datamodels: datamodels.length > 0 ? datamodels : undefined },
      (line) => debug && process.stderr.write(`${line}\n`),
      bindMigrationAwareSqlAdapterFactory(new MigrationAdapterFactory(datasource)),
    );
  }

  async function call(id, method, params) {
    if (method === 'createDatabase') {
      return { databaseName: await createDatabase(params.datasource?.url ?? datasource.url) };
    }
    opened ??= open();
    const engine = await opened;
    if (method === 'getDatabaseVersion') return engine.version(params);
    if (typeof engine[method] !== 'function') throw new Error(`the wasm schema engine has no method ${method}`);
    const result = await engine[method](params);
    // The binary asks the CLI to print a diff; the wasm engine returns it.
    if (method === 'diff' && result?.stdout) {
      send({ id: 1e9 + id, method: 'print', params: { content: result.stdout } });
    }
    return result ?? {};
  }

  return async ({ id, method, params }) => {
    try {
      send({ id, result: await call(id, method, params ?? {}) });
    } catch (error) {
      if (debug) process.stderr.write(`${error.stack}\n`);
      const { message, meta = {}, code = null } = error;
      send({ id, error: { code: 4466, message, data: { is_panic: false, message, meta, error_code: code } } });
    }
  };
}

async function serve(parsed) {
  const answer = createAnswerer(parsed);
  // Sequential, because the engine has one connection. `for await` ends with stdin.
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() === '') continue;
    const message = JSON.parse(line);
    // Responses to our own `print` calls have no method.
    if (message.method !== undefined) await answer(message);
  }
}

const parsed = parseArguments(process.argv.slice(2));
if (parsed.wantsVersion) {
  const engine = await loadEngine();
  process.stdout.write(`schema-engine-wasm ${engine.version()}\n`);
} else if (parsed.command !== null) {
  process.exitCode = await runCommand(parsed.command, parsed.datasource.url);
} else {
  await serve(parsed);
  process.exit(0);
}
