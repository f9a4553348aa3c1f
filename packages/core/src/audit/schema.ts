// Schemas of the audit log in the API, with its filters.
import { auditIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { countedPageSchema, dateRangeShape, pageInputSchema, searchSchema } from '../kernel/page.ts';

export const actorKindSchema = z.enum(['member', 'token', 'agent', 'system']);
export type ActorKind = z.infer<typeof actorKindSchema>;

const fieldValueSchema = z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.string())]);
/** Fields of the target that changed, by name. */
export const auditFieldsSchema = z.record(z.string(), fieldValueSchema);

export const auditEventSchema = z.object({
  id: auditIdSchema,
  /** Position of the event in its organization's chain. */
  sequence: z.number().int(),
  at: z.date(),
  actor: z.object({
    kind: actorKindSchema,
    /** User, token or server; of the system its reason. */
    id: z.string(),
    /** Current name; null if it was deleted. */
    name: z.string().nullable(),
  }),
  ip: z.string().nullable(),
  action: z.string(),
  target: z.object({ kind: z.string(), id: z.string(), label: z.string() }),
  before: auditFieldsSchema.nullable(),
  after: auditFieldsSchema.nullable(),
  /** Hex SHA-256 over the link before and this event. */
  hash: z.string(),
});
export type AuditEventView = z.infer<typeof auditEventSchema>;

const wordSchema = z.string().trim().min(1).max(100);

export const auditFilterSchema = z.object({
  actorKind: actorKindSchema.optional(),
  /** A user, a token or a server; a user's id finds what their tokens did, too. */
  actorId: wordSchema.optional(),
  /** `app.delete`, or all of a feature: `app`. */
  action: wordSchema.optional(),
  targetId: wordSchema.optional(),
  /** Part of the target's name at the time or of the actor's name, or the target's id. */
  search: searchSchema.optional(),
  /** `to` is exclusive. */
  ...dateRangeShape,
});
export type AuditFilter = z.infer<typeof auditFilterSchema>;

export const listAuditInputSchema = pageInputSchema.extend(auditFilterSchema.shape);
export type ListAuditInput = z.infer<typeof listAuditInputSchema>;
export const auditPageSchema = countedPageSchema(
  auditEventSchema.extend({
    /** Current names of the ids in `before` and `after`, by id; what was deleted is missing. */
    names: z.record(z.string(), z.string()),
  }),
);
export type NamedAuditEvent = z.infer<typeof auditPageSchema>['items'][number];

export const auditHeadSchema = z.object({
  sequence: z.number().int().min(1),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
});

/** `known` is a head that was recorded earlier: only with it can a rebuilt chain be detected. */
export const verifyAuditInputSchema = z.object({ known: auditHeadSchema.optional() });
export type VerifyAuditInput = z.infer<typeof verifyAuditInputSchema>;

export const brokenLinkSchema = z.object({
  /** Null for an event that no link covers. */
  sequence: z.number().int().nullable(),
  eventId: z.string().nullable(),
  /**
   * changed: the event or its link is not what was hashed. missing: a link or its event is gone. unlinked: the event was
   * put in past the chain. rewritten: the chain holds together, but is not the one that was known.
   */
  reason: z.enum(['changed', 'missing', 'unlinked', 'rewritten']),
});
export type BrokenLink = z.infer<typeof brokenLinkSchema>;

export const auditVerdictSchema = z.object({
  whole: z.boolean(),
  /** Links that were looked at. */
  checked: z.number().int(),
  /** To write down, outside of this database. */
  head: auditHeadSchema.nullable(),
  broken: brokenLinkSchema.nullable(),
});
export type AuditVerdict = z.infer<typeof auditVerdictSchema>;
