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

-- The chain over the events: each link's hash covers its event and the link before. No foreign key to the event: a link
-- whose event is gone is the evidence.
CREATE TABLE "audit_link" (
    "organization_id" TEXT NOT NULL,
    "sequence" BIGINT NOT NULL,
    "event_id" TEXT NOT NULL,
    "hash" TEXT NOT NULL,

    CONSTRAINT "audit_link_pkey" PRIMARY KEY ("organization_id","sequence")
);

CREATE UNIQUE INDEX "audit_link_event_id_key" ON "audit_link"("event_id");

ALTER TABLE "audit_link" ADD CONSTRAINT "audit_link_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

SELECT guard.protect_tenant_table('audit_event');
SELECT guard.protect_tenant_table('audit_link');
REVOKE UPDATE, DELETE ON audit_event, audit_link FROM fairlead_tenant, fairlead_system;

ALTER TABLE audit_event
  ADD CONSTRAINT audit_event_actor_known CHECK (actor_kind IN ('member', 'token', 'agent', 'system'));

-- SHA-256 of the event's fields as one JSON array, the previous hash first. Columns are named, so that a column added
-- later leaves old hashes as they are.
CREATE FUNCTION guard.audit_hash(previous text, sequence bigint, event public.audit_event) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT encode(sha256(convert_to(jsonb_build_array(
    previous, sequence, event.organization_id, event.id,
    to_char(event.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    event.actor_kind, event.actor_id, event.actor_user_id, event.ip, event.action,
    event.target_kind, event.target_id, event.target_label, event.before, event.after
  )::text, 'UTF8')), 'hex')
$$;

-- Runs when the transaction commits: the chain's lock is then the last one taken and held for an instant, so that two
-- changes of one organization neither wait for each other's work nor lock each other out.
CREATE FUNCTION guard.link_audit_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  event public.audit_event;
  head public.audit_link;
BEGIN
  PERFORM pg_advisory_xact_lock(460211702, hashtext(NEW.organization_id));
  SELECT * INTO event FROM public.audit_event WHERE id = NEW.id;
  -- Gone with its organization in the same transaction.
  IF event.id IS NULL THEN RETURN NULL; END IF;
  SELECT * INTO head FROM public.audit_link
    WHERE organization_id = NEW.organization_id ORDER BY sequence DESC LIMIT 1;
  INSERT INTO public.audit_link (organization_id, sequence, event_id, hash)
  VALUES (
    NEW.organization_id, coalesce(head.sequence, 0) + 1, event.id,
    guard.audit_hash(coalesce(head.hash, ''), coalesce(head.sequence, 0) + 1, event));
  RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER audit_event_linked AFTER INSERT ON audit_event
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION guard.link_audit_event();

REVOKE ALL ON FUNCTION guard.audit_hash(text, bigint, public.audit_event), guard.link_audit_event() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION guard.audit_hash(text, bigint, public.audit_event) TO fairlead_tenant, fairlead_system;
