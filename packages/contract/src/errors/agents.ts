// Errors of an agent's work: builds, rollouts, upgrades. Part of errors.ts, by its rules.
import { type ErrorEntry, failed } from './entry.ts';

export const agentErrors = {
  'build.clone_failed': failed(
    'The repository could not be cloned. Check its address and that the server can reach it.',
  ),
  'build.ref_not_found': failed(
    'The repository has no such branch, tag or commit. Check the branch in the settings of the app.',
  ),
  'build.root_folder_missing': failed(
    'The repository has no such root folder. Check the root folder in the settings of the app.',
  ),
  'build.not_detected': failed(
    'No file says how to build or start the app. Add one, or set the root folder or the commands.',
  ),
  'build.command_failed': failed('A command of the build failed. The last lines of the log say why.'),
  'build.install_failed': failed('The dependencies could not be installed. The last lines of the log say why.'),
  'build.lock_outdated': failed(
    'The lock file does not match the list of dependencies. Update it with the package manager, commit both, then deploy again.',
  ),
  'build.network_failed': failed(
    'The server did not reach a host that the build needs. Check its network, DNS and firewall, then deploy again.',
    { retryable: true },
  ),
  'build.credentials_missing': failed(
    'A registry asks for credentials. Add a token as a secret marked “Also at build time”, then deploy again.',
  ),
  'build.package_not_found': failed(
    'The registry has no such package or version. Correct its name or version, then deploy again.',
  ),
  'build.dependency_conflict': failed(
    'Two packages need different versions of a third one. Choose versions that agree, then deploy again.',
  ),
  'build.version_unsupported': failed(
    'The app needs a different version of its runtime or package manager. Set it in the repository, then deploy again.',
  ),
  'build.compiler_missing': failed(
    'A package has to be compiled, and the server lacks a compiler or a header file. Install it there, then deploy again.',
  ),
  'build.variable_missing': failed(
    'The build needs a variable that is not set. Add it with the scope “Build only”, then deploy again.',
  ),
  'build.script_missing': failed(
    'The script that the build runs does not exist. Add it, or set another command in the settings.',
  ),
  'build.code_invalid': failed(
    "The app's own code has an error. Correct the line that the log names, then deploy again.",
  ),
  'build.module_missing': failed(
    'The code imports something that does not exist. Add the package, or correct the path, then deploy again.',
  ),
  'build.program_missing': failed(
    'A build command runs a program that does not exist. Add the package that provides it, or install it on the server.',
  ),
  'build.file_missing': failed('A build command reads a file that does not exist. Commit it, or correct its path.'),
  'build.write_denied': failed(
    "A build command may not write to this path. It can write to the app's folder, $HOME and /tmp.",
  ),
  'build.plan_failed': failed(
    "The repository's files could not be read for a plan. Look for a damaged or very large file that names packages or settings.",
  ),
  'build.manifest_invalid': failed(
    'The fairlead.toml or Procfile of the app has a mistake. Correct it, then deploy again.',
  ),
  'build.output_missing': failed(
    'The build produced no index.html, server or fallback page. Set the output folder or the start command.',
  ),
  'build.toolchain_missing': failed(
    'The runtime that the app asks for is not available on this server. Choose a version that is published.',
  ),
  'build.container_failed': failed('The image could not be built or pulled. The last lines of the log say why.'),
  'build.upload_unusable': failed('The uploaded folder could not be used. Upload it again.', { retryable: true }),
  'build.secrets_unreadable': failed('The secrets of the build could not be decrypted on this server. Set them again.'),
  'build.out_of_memory': failed('The build exceeded its memory limit. Raise the limit, or make the build use less.'),
  'build.too_large': failed('The build wrote more than it may. Let it write less, or give builds more room.'),
  'build.timeout': failed(
    'The build exceeded its timeout. Raise the build timeout, or check the log for the step that hangs.',
  ),
  'build.disk_full': failed("The server's disk is full. Free some space, then redeploy.", { retryable: true }),
  'build.cancelled': failed('The build was cancelled.'),
  'build.interrupted': failed('The build was interrupted. Redeploy to start it again.', { retryable: true }),
  'build.internal': failed('The build could not run on this server. The log says why.', { retryable: true }),

  'rollout.artifact_missing': failed(
    "The server no longer holds this release's artifact. Redeploy its commit to build it again.",
  ),
  'rollout.no_engine': failed(
    'The release is an image, and the server has no container engine that answers. Install or start Docker on it.',
    { retryable: true },
  ),
  'rollout.image_unusable': failed('The container engine rejected the image. The log quotes its error.'),
  'rollout.toolchain_missing': failed(
    'A runtime that the release needs could not be installed on this server. Check that the server can reach the package registry.',
    { retryable: true },
  ),
  'rollout.fetch_failed': failed(
    'The server could not fetch the artifact of the release. It will work once it reaches the store.',
    {
      retryable: true,
    },
  ),
  'rollout.start_failed': failed('The app could not be started. Check its start command; the log says why.'),
  'rollout.not_listening': failed(
    'The app did not listen on its port in time. Listen on the port given in the PORT variable.',
  ),
  'rollout.wrong_port': failed(
    'The app listened on another port than the one it was given. Listen on the port given in the PORT variable.',
  ),
  'rollout.unhealthy': failed(
    'The app started, but its health check did not pass in time. Check the health path; the log says what the app answered.',
  ),
  'rollout.crash_loop': failed('The app crashed repeatedly right after it started. The last lines of its log say why.'),
  'rollout.ended': failed(
    'The program exited and never listened on a port. Add it as a worker or a release command, or correct its start command.',
  ),
  'rollout.port_taken': failed("Another program listens on the app's port. The log has the app's last lines."),
  'rollout.variable_missing': failed('The app needs a variable that is not set. Add it, then deploy again.'),
  'rollout.module_missing': failed(
    'The release lacks something that the app loads. Add the package to its dependencies, then deploy again.',
  ),
  'rollout.write_denied': failed(
    'The app writes where it may not. It may write in its own folder, in $HOME, in /tmp and in its volumes.',
  ),
  'rollout.service_unreachable': failed(
    'The app needs a database or another service that does not answer. Set its address as a variable, then deploy again.',
  ),
  'rollout.files_too_large': failed(
    'The app wrote more temporary files than an instance may have. Write what must last to a volume, and remove the rest in time.',
  ),
  'rollout.command_failed': failed(
    'A command of the rollout failed. Its output is in the log. Live traffic is unaffected.',
  ),
  'rollout.canary_failed': failed(
    'The canary failed, so the previous release gets all requests again. The log has the figures.',
  ),
  'rollout.disk_full': failed("The server's disk has no room for the release. Free some space, then deploy again.", {
    retryable: true,
  }),
  'rollout.cancelled': failed('The rollout was cancelled.'),
  'upgrade.fetch_failed': failed('The new agent could not be fetched. The previous one keeps running. Try again.', {
    retryable: true,
  }),
  'upgrade.check_failed': failed('The new agent cannot work on this server. The previous one keeps running.'),
  'upgrade.signature_wrong': failed(
    'No release key has signed the new agent, so the server rejected it. The agent was not changed.',
  ),
  'upgrade.older': failed(
    'The new agent is older than the one that runs, so the server rejected it. To go back, run the install command on the server.',
  ),
  'upgrade.crashed': failed(
    'The new agent crashed repeatedly before it connected. The previous agent runs again. See the log of the server.',
  ),
  'upgrade.silent': failed(
    'The new agent did not reach the control plane in time, so the previous one runs again. The log of the server says more.',
    { retryable: true },
  ),
  'upgrade.replaced': failed('Another agent was installed on the server before the new one had proved itself.'),
  'upgrade.unavailable': failed(
    'The agent is not where it was installed, so nothing could start it again. Run the install command on the server once.',
  ),
  'upgrade.lost': failed('The server did not tell how the upgrade ended. Check that it is connected, then try again.', {
    retryable: true,
  }),

  'rollout.internal': failed('The rollout could not run on this server. The log says why.', { retryable: true }),
  'inspect.busy': failed('This server is busy inspecting other repositories. Try again in a moment.', {
    retryable: true,
  }),
  'inspect.timeout': failed(
    'The server did not read the repository in time. Retry, or create the app without a plan.',
    {
      retryable: true,
    },
  ),
  'inspect.too_large': failed(
    'The repository is larger than an inspection may fetch. Create the app: a build may fetch more.',
  ),
  'inspect.source_invalid': failed('The source cannot be inspected. Correct its address, then retry.'),
  'log.busy': failed('This server is already searching its logs. Try again in a moment.', { retryable: true }),
  'log.unreadable': failed("The server could not read the app's logs. The detail beside it says why.", {
    retryable: true,
  }),
  'secret.unopenable': failed(
    "The app's secrets could not be decrypted on this server. Deploy again. If that does not help, set the secrets again.",
  ),
} as const satisfies Record<string, ErrorEntry>;
