// Plugin of the library that opens a session for an account that was proven elsewhere. It has no path that a request reaches.
import { createAuthEndpoint } from '@better-auth/core/api';
import type { BetterAuthPlugin } from 'better-auth';
import { APIError } from 'better-auth/api';
import { setSessionCookie } from 'better-auth/cookies';
import type { twoFactor } from 'better-auth/plugins/two-factor';
import { z } from 'zod';

const path = '/open-session';

/** `secondStep`: the library's plugin, which asks for a code after this as after a password. */
export function openSession(secondStep: ReturnType<typeof twoFactor>) {
  return {
    id: 'open-session',
    endpoints: {
      openSession: createAuthEndpoint(
        path,
        { method: 'POST', body: z.object({ userId: z.string() }), metadata: { SERVER_ONLY: true } },
        async (ctx) => {
          const { internalAdapter } = ctx.context;
          const user = await internalAdapter.findUserById(ctx.body.userId);
          if (user === null) throw new APIError('UNAUTHORIZED', { message: 'the account is gone' });
          const session = await internalAdapter.createSession(user.id);
          await setSessionCookie(ctx, { session, user });
          return ctx.json({ token: session.token });
        },
      ),
    },
    hooks: {
      after: secondStep.hooks.after.map(({ handler }) => ({
        matcher: (context: { path?: string }) => context.path === path,
        handler,
      })),
    },
  } satisfies BetterAuthPlugin;
}
