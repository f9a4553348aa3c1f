-- The person behind a deployment request becomes a column: approvals no longer read it from the audit log. No foreign key:
-- history outlives people. A new deployment by an API token or by the control plane itself has a trigger of its own
-- (packages/core/src/deployment/schema.ts).
ALTER TABLE "deployment" ADD COLUMN "requested_by_user_id" TEXT;

ALTER TABLE deployment DROP CONSTRAINT deployment_trigger_known;
ALTER TABLE deployment ADD CONSTRAINT deployment_trigger_known CHECK (trigger IN
  ('manual', 'api', 'system', 'redeploy', 'rollback', 'push', 'secret', 'restart', 'retry', 'promote', 'upload'));

SET ROLE fairlead_system;

UPDATE deployment SET
  requested_by_user_id = coalesce(deployment.actor_user_id, known.approval_user_id, known.maker_user_id),
  trigger = CASE
    WHEN deployment.trigger = 'manual' AND known.actor_kind = 'token' THEN 'api'
    WHEN deployment.trigger = 'manual' AND known.actor_kind = 'system' THEN 'system'
    ELSE deployment.trigger
  END
FROM (
  SELECT stored.id, stored.organization_id, approval.requested_by_user_id AS approval_user_id,
    token.created_by_user_id AS maker_user_id, request.actor_kind
  FROM deployment AS stored
  LEFT JOIN deployment_approval AS approval
    ON approval.deployment_id = stored.id AND approval.organization_id = stored.organization_id
  LEFT JOIN (
    SELECT DISTINCT ON (organization_id, target_id) organization_id, target_id, actor_kind, actor_id
    FROM audit_event
    WHERE target_kind = 'deployment' AND action IN ('deployment.create', 'deployment.redeploy', 'deployment.rollback',
      'deployment.deploy_secrets', 'deployment.restart', 'deployment.retry', 'deployment.promote_release')
    ORDER BY organization_id, target_id, at
  ) AS request ON request.target_id = stored.id AND request.organization_id = stored.organization_id
  LEFT JOIN api_token AS token
    ON request.actor_kind = 'token' AND token.id = request.actor_id AND token.organization_id = stored.organization_id
) AS known
WHERE known.id = deployment.id AND known.organization_id = deployment.organization_id;

RESET ROLE;
