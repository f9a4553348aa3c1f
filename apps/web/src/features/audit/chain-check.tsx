'use client';
// Verifies the audit log's hash chain on request and names the first event that breaks it.
import { Button } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { CopyButton } from '@fairlead/ui/copy-button';
import { useFormats } from '@fairlead/ui/formats';
import { useQuery } from '@tanstack/react-query';
import { ShieldAlert, ShieldCheck } from 'lucide-react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { Outputs } from '../../api/types.ts';

type Verdict = Outputs['audit']['verify'];

export function ChainCheck() {
  const trpc = useTRPC();
  const check = useQuery({ ...trpc.audit.verify.queryOptions({}), enabled: false });
  return (
    <Card className="mb-4 flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-3">
      <div aria-live="polite" className="min-w-0 flex-1 basis-72">
        {check.error === null ? (
          <VerificationResult verdict={check.data} />
        ) : (
          <p className="text-bad-text">{readFailure(check.error).message}</p>
        )}
      </div>
      <Button pending={check.isFetching} onClick={() => void check.refetch()}>
        Verify log
      </Button>
    </Card>
  );
}

const REASON: Record<NonNullable<Verdict['broken']>['reason'], string> = {
  changed: 'was altered after it was written',
  missing: 'is missing',
  unlinked: 'was inserted outside the chain',
  rewritten: 'is not the one that was there before',
};

function VerificationResult({ verdict }: { readonly verdict: Verdict | undefined }) {
  const { plural } = useFormats();
  if (verdict === undefined) {
    return (
      <p className="text-ink-soft">Each event is chained to the one before it by a hash, so a change is detected.</p>
    );
  }
  const { broken, head, checked } = verdict;
  if (broken !== null) {
    return (
      <p className="flex items-center gap-2 text-bad-text">
        <ShieldAlert size={16} aria-hidden="true" className="shrink-0" />
        Broken: event {broken.sequence ?? broken.eventId} {REASON[broken.reason]}.
      </p>
    );
  }
  return (
    <div>
      <p className="flex items-center gap-2">
        <ShieldCheck size={16} aria-hidden="true" className="shrink-0 text-ok" />
        Log verified: {plural(checked, 'event')}.
      </p>
      {head === null ? null : (
        <p className="flex items-center gap-1 text-sm text-ink-faint">
          <span className="truncate">
            Save this hash: <span className="font-mono text-xs">{`${head.sequence}:${head.hash}`}</span>
          </span>
          <CopyButton value={`${head.sequence}:${head.hash}`} label="Copy hash" className="-my-1.5" />
        </p>
      )}
    </div>
  );
}
