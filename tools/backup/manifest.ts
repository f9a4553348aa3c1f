// Layout of a backup.
import { z } from 'zod';

export const MANIFEST = 'manifest.json';
/** Folder beside the manifest with one file per table, in PostgreSQL's binary COPY format. */
export const DATABASE = 'database';

export const manifestSchema = z.object({
  format: z.literal(1),
  madeAt: z.iso.datetime(),
  database: z.object({
    migrations: z.array(z.string()).min(1).readonly(),
    tables: z.array(z.object({ name: z.string(), columns: z.array(z.string()).readonly() })).readonly(),
    samplesFrom: z.iso.datetime().nullable(),
  }),
});
export type Manifest = z.infer<typeof manifestSchema>;
