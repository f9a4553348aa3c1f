// Pagination of lists: input and result. Independent of the items.
import { z } from 'zod';

const pageSizeMax = 100;

/** Opaque to callers: the id or key of the last row they saw. */
const cursorSchema = z.string().min(1).max(200);

export const pageInputSchema = z.object({
  cursor: cursorSchema.nullish(),
  limit: z.number().int().min(1).max(pageSizeMax).default(50),
});

export const searchSchema = z.string().trim().max(100);

export function pageSchema<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), nextCursor: cursorSchema.nullable() });
}

export interface Page<Item> {
  items: Item[];
  nextCursor: string | null;
}

/** Bounds the cost of a count: the audit log of a busy organization is longer. */
export const countMax = 100_000;

/** Page of a list that says how many rows match its filters. */
export function countedPageSchema<Item extends z.ZodType>(item: Item) {
  return pageSchema(item).extend({
    /** Number of rows that match, up to 100,000; null on every page but the first. */
    total: z.number().int().nullable(),
  });
}

export interface CountedPage<Item> extends Page<Item> {
  total: number | null;
}

/** Day range of a list: `from` is inclusive, `to` exclusive. */
export const dateRangeShape = { from: z.coerce.date().optional(), to: z.coerce.date().optional() };

/** Turns `limit + 1` rows into a page: the extra row only proves that there is more. */
export function toPage<Row, Item>(
  rows: readonly Row[],
  limit: number,
  cursorOf: (row: Row) => string,
  toItem: (row: Row) => Item,
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map(toItem),
    nextCursor: rows.length > limit && last !== undefined ? cursorOf(last) : null,
  };
}
