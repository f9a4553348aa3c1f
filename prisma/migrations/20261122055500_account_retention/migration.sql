-- What happened to accounts is pruned by its age, and nothing else of it is seen.
GRANT SELECT (at), DELETE ON account_event TO fairlead_system;
CREATE INDEX "account_event_at_idx" ON "account_event"("at");
