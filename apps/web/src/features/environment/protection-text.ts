// Text that says what protection of an environment does.

export const PROTECTION =
  "Deployments need another member's approval. Other changes need the right to approve deployments.";
