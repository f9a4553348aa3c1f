'use client';
// Dialogs of servers, which are loaded when they open: together they would take a tenth of a page's JavaScript.
import dynamic from 'next/dynamic';

export const AddServerDialog = dynamic(
  () => import('./add-server-dialog.tsx').then((module) => module.AddServerDialog),
  { ssr: false },
);

export const AgentRolloutDialog = dynamic(
  () => import('./agent-rollout-dialog.tsx').then((module) => module.AgentRolloutDialog),
  { ssr: false },
);

export const DrainDialog = dynamic(() => import('./drain-dialog.tsx').then((module) => module.DrainDialog), {
  ssr: false,
});

export const RemoveServerDialog = dynamic(
  () => import('./remove-server-dialog.tsx').then((module) => module.RemoveServerDialog),
  { ssr: false },
);

export const ReplaceServerDialog = dynamic(
  () => import('./replace-server-dialog.tsx').then((module) => module.ReplaceServerDialog),
  { ssr: false },
);
