-- Who changed what. An organization may add to its log and read it; no role of the application may change or delete.
CREATE TABLE "audit_event" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "actor_kind" TEXT NOT NULL,
    "actor_id" TEXT NOT NULL,
    "actor_user_id" TEXT,
    "ip" TEXT,
    "action" TEXT NOT NULL,
    "target_kind" TEXT NOT NULL,
    "target_id" TEXT NOT NULL,
    "target_label" TEXT NOT NULL,
    "before" JSONB,
    "after" JSONB,

    CONSTRAINT "audit_event_pkey" PRIMARY KEY ("id")
);

CREATE INDEX "audit_event_organization_id_at_id_idx" ON "audit_event"("organization_id", "at" DESC, "id" DESC);

ALTER TABLE "audit_event" ADD CONSTRAINT "audit_event_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

SELECT guard.protect_tenant_table('audit_event');
REVOKE UPDATE, DELETE ON audit_event FROM fairlead_tenant, fairlead_system;
