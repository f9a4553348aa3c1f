-- When the servers of a volume were told to delete it.
ALTER TABLE volume ADD COLUMN released_at TIMESTAMPTZ(3);
CREATE INDEX volume_due ON volume (delete_at) WHERE delete_at IS NOT NULL;
