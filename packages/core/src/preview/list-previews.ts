// Lists the open pull requests of an app with their previews, and closed ones with a preview that is not deleted yet.
import { parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import { awaitsBuildSql } from '../deployment/index.ts';
import { deploymentStateSchema } from '../deployment/schema.ts';
import { type AppLinks, domainUrl } from '../domain/index.ts';
import type { Ctx } from '../kernel/index.ts';
import { type PreviewList, type PreviewsOf, previewStateSchema } from './schema.ts';

const listMax = 200;

interface ListedRow {
  readonly id: string;
  readonly number: number;
  readonly title: string;
  readonly author: string;
  readonly headRef: string;
  readonly headHash: string;
  readonly isFork: boolean;
  readonly state: string;
  readonly problem: string;
  readonly pushedAt: Date;
  readonly environmentId: string | null;
  readonly baseUrl: string | null;
  readonly fullName: string | null;
  readonly host: string | null;
  readonly isLocal: boolean | null;
  readonly deploymentId: string | null;
  readonly deploymentState: string | null;
  readonly awaitsBuild: boolean;
}

/** Newest push first. */
export async function listPreviews(ctx: Ctx, { appId }: PreviewsOf, links: AppLinks): Promise<PreviewList> {
  const rows = await ctx.tx.$queryRaw<ListedRow[]>`
    SELECT preview.id, preview.number, preview.title, preview.author, preview.head_ref AS "headRef",
           preview.head_hash AS "headHash", preview.is_fork AS "isFork", preview.state, preview.problem,
           preview.pushed_at AS "pushedAt", preview.environment_id AS "environmentId", github_app.base_url AS "baseUrl",
           link.full_name AS "fullName", domain.host, server.is_local AS "isLocal", last.id AS "deploymentId",
           last.state AS "deploymentState", ${awaitsBuildSql(Prisma.sql`last`)} AS "awaitsBuild"
    FROM preview
    LEFT JOIN app_repository AS link ON link.app_id = preview.app_id
    LEFT JOIN github_installation AS installation ON installation.id = link.installation_id
    LEFT JOIN github_app ON github_app.id = installation.github_app_id
    LEFT JOIN LATERAL (
      SELECT host FROM domain WHERE domain.environment_id = preview.environment_id AND domain.app_id = preview.app_id
      ORDER BY domain.automatic DESC, domain.created_at LIMIT 1
    ) AS domain ON true
    LEFT JOIN LATERAL (
      SELECT server.is_local FROM placement JOIN placement_server ON placement_server.placement_id = placement.id
      JOIN server ON server.id = placement_server.server_id
      WHERE placement.environment_id = preview.environment_id AND placement.app_id = preview.app_id LIMIT 1
    ) AS server ON true
    LEFT JOIN LATERAL (
      SELECT id, state, organization_id, build_server_id FROM deployment WHERE deployment.environment_id = preview.environment_id
      ORDER BY queued_at DESC, id DESC LIMIT 1
    ) AS last ON true
    WHERE preview.organization_id = ${ctx.organizationId} AND preview.app_id = ${appId}
      AND (preview.is_open OR preview.environment_id IS NOT NULL)
    ORDER BY preview.pushed_at DESC, preview.id LIMIT ${listMax}`;
  return {
    items: rows.map(({ baseUrl, fullName, host, isLocal, ...row }) => ({
      ...row,
      id: parseId('prv', row.id),
      state: previewStateSchema.parse(row.state),
      pullRequestUrl: baseUrl === null || fullName === null ? '' : `${baseUrl}/${fullName}/pull/${row.number}`,
      environmentId: row.environmentId === null ? null : parseId('env', row.environmentId),
      url: host === null ? null : domainUrl({ host, pathPrefix: '/' }, isLocal === true, links),
      deploymentId: row.deploymentId === null ? null : parseId('dep', row.deploymentId),
      deploymentState: deploymentStateSchema.nullable().parse(row.deploymentState),
    })),
  };
}
