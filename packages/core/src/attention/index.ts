export { acknowledgeAttention, closeChecklist, restoreAttention } from './acknowledge-attention.ts';
export type { AttentionReach, AttentionScope } from './items-sql.ts';
export { attentionWithin, listAttention, listAttentionTargets } from './list-attention.ts';
export * from './schema.ts';
