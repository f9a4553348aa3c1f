// Checks the rights of a call on its input, inside of the call's transaction. It knows no request, so that the worker can act for
// a person by the same rules.
import type { ErrorCode } from '@fairlead/contract/errors';
import { AppError, type Ctx } from '@fairlead/core/kernel';
import { type Permission, type Scope, wholeOrganization } from '@fairlead/core/role';
import { type Protection, requireApprover } from './protection.ts';
import type { AlsoNeeds, ScopeOf } from './scopes.ts';

/** Rules of a procedure; `MemberOptions` explains them. */
export interface JudgedOptions<Input> {
  readonly scope?: ScopeOf<Input>;
  readonly also?: AlsoNeeds<Input>;
  readonly lists?: 'project' | 'environment';
  readonly protection?: Protection<Input>;
}

export interface Caller {
  may(permission: Permission, scope?: Scope): boolean;
  /** Throws unless the person confirmed recently who they are. */
  requireFresh(): Promise<void>;
}

/** Throws permission.denied and the errors of further needs. */
export async function judge<Input>(
  core: Ctx,
  caller: Caller,
  permission: Permission,
  { scope, also, lists, protection }: JudgedOptions<Input>,
  input: Input,
): Promise<void> {
  if (lists === undefined && !caller.may(permission)) {
    const places = (await scope?.find(core, input, (there) => caller.may(permission, there))) ?? [];
    if (places.length === 0) throw new AppError('permission.denied', { permission });
    for (const place of places) requireAny(caller, [permission], place);
  }
  for (const { anyOf, scope: place, denied, fresh } of (await also?.find(core, input)) ?? []) {
    requireAny(caller, anyOf, place, denied);
    if (fresh === true) await caller.requireFresh();
  }
  if (protection?.kind === 'approver') await requireApprover(core, caller, await protection.find(core, input));
}

function requireAny(
  caller: Caller,
  permissions: readonly [Permission, ...Permission[]],
  place: Scope | null,
  denied: ErrorCode = 'permission.denied',
): void {
  if (permissions.some((permission) => caller.may(permission, place ?? wholeOrganization))) return;
  throw new AppError(denied, { permission: permissions[0] });
}
