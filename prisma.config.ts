import { fileURLToPath } from 'node:url';
import { defineConfig } from 'prisma/config';

// Prisma's own engine is downloaded at install time; this stand-in runs the same engine from the registry's wasm build.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= fileURLToPath(new URL('./tools/prisma/schema-engine.mjs', import.meta.url));
process.env.CHECKPOINT_DISABLE ??= '1';

export default defineConfig({
  schema: 'prisma/schema',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env.DATABASE_URL ?? 'postgresql://localhost:5432/none' },
});
