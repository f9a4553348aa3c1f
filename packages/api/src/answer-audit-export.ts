// Exports the audit log as a download. It streams pages, so that a log of any length needs little memory.
import { type AuditFilter, auditFilterSchema, exportAudit, exportFormatSchema } from '@fairlead/core/audit';
import { AppError } from '@fairlead/core/kernel';
import { requireAccess } from './access.ts';
import { type ApiParts, createContext } from './context.ts';
import { problemOf } from './problem.ts';

const mediaTypes = { ndjson: 'application/x-ndjson; charset=utf-8', csv: 'text/csv; charset=utf-8' } as const;

/** `?organization=…&format=ndjson|csv` and the filters of audit.list. */
export async function answerAuditExport(parts: ApiParts, request: Request): Promise<Response> {
  const query = Object.fromEntries(new URL(request.url).searchParams);
  const ctx = createContext(parts, { headers: request.headers, organizationSlug: query.organization ?? null });
  try {
    await parts.rateLimit.admit(ctx, 1);
    const access = await requireAccess(ctx);
    if (!access.may('audit.read')) throw new AppError('permission.denied', { permission: 'audit.read' });
    const { organizationId, organizationSlug } = access;
    const format = exportFormatSchema.safeParse(query.format ?? 'ndjson');
    const filter = auditFilterSchema.safeParse(query);
    if (!format.success || !filter.success) throw new AppError('input.invalid');
    const lines = exportAudit(
      (read) =>
        ctx.database.tenant(organizationId, (tx) => read({ tx, organizationId, clock: ctx.clock, log: ctx.log })),
      definedOf(filter.data),
      format.data,
    );
    return new Response(streamOf(lines), {
      headers: {
        'content-type': mediaTypes[format.data],
        'content-disposition': `attachment; filename="audit-${organizationSlug}.${format.data}"`,
        'cache-control': 'no-store',
      },
    });
  } catch (error) {
    return problemOf(error, ctx.log, 'audit.export');
  }
}

/** Asks for a page when the reader is ready for it; who stops reading ends it. */
function streamOf(lines: AsyncGenerator<string, void>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    pull: async (controller) => {
      const { value, done } = await lines.next();
      if (done === true) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    cancel: async () => {
      await lines.return();
    },
  });
}

function definedOf(filter: AuditFilter): AuditFilter {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined && value !== ''));
}
