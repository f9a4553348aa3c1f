-- Public reports took the path /reports, which hid an organization of that slug. It gets the slug that a new one would get.
UPDATE "organization"
SET "slug" = CASE
  WHEN EXISTS (SELECT 1 FROM "organization" WHERE "slug" = 'reports-organization')
  THEN 'reports-organization-' || substr(md5("id"), 1, 8)
  ELSE 'reports-organization'
END
WHERE "slug" = 'reports';
