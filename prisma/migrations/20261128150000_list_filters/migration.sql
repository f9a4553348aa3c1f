-- Indexes for the filters of lists: deployments by branch and server, audit events by action, actor and target.
CREATE INDEX "deployment_organization_id_ref_queued_at_id_idx" ON "deployment"("organization_id", "ref", "queued_at" DESC, "id" DESC);
CREATE INDEX "deployment_organization_id_build_server_id_idx" ON "deployment"("organization_id", "build_server_id");
-- The operator class serves the search for all actions of a feature. Prisma knows no operator class of a B-tree, and leaves
-- partial indexes alone.
CREATE INDEX "audit_event_organization_id_action_idx" ON "audit_event"("organization_id", "action" text_pattern_ops)
  WHERE "action" IS NOT NULL;
CREATE INDEX "audit_event_organization_id_actor_id_idx" ON "audit_event"("organization_id", "actor_id");
CREATE INDEX "audit_event_organization_id_actor_user_id_idx" ON "audit_event"("organization_id", "actor_user_id");
CREATE INDEX "audit_event_organization_id_target_id_idx" ON "audit_event"("organization_id", "target_id");
