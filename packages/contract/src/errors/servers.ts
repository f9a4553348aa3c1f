// Errors of servers, their benchmarks, and the link to their agents. Part of errors.ts, by its rules.
import { conflict, type ErrorEntry, failed, invalid, missing, refused } from './entry.ts';

export const serverErrors = {
  'server.not_found': missing('There is no such server.'),
  'server.name_taken': conflict('There is already a server with this name. Choose another.'),
  'server.confirm_mismatch': invalid('The name typed is not the name of this server.'),
  'server.in_use': conflict(
    'Apps are still on this server. Delete or move them first. An app under “Recently deleted” counts too: delete it there permanently, or restore and move it.',
  ),
  'server.is_local': conflict('The local server belongs to this control plane and cannot be deleted.'),
  'server.proxy_is_control': conflict(
    'The dashboard is reached through the proxy of the local server. With the PROXY protocol it would close every direct connection.',
  ),
  'server.drained': conflict(
    'This server is drained: nothing is deployed to it. Choose another server, or end its drain.',
  ),
  'server.not_drained': conflict('This server is not drained. Drain it first, so that nothing new is deployed to it.'),
  'server.not_connected': conflict('The server is not connected. Start its agent, then try again.'),
  'server.upgrade_unsupported': conflict(
    'The agent of this server is too old to be upgraded from here. Run the install command of a new server on it once; its apps keep running.',
  ),
  'server.upgrade_under_way': conflict('The agent of this server is already being upgraded. Wait until that ends.'),
  'server.upgrade_current': conflict('This server already runs the agent that this control plane offers.'),
  'server.uninstall_unsupported': conflict(
    'The agent of this server is too old to remove itself. Upgrade it, or delete the server here and uninstall the agent on the machine.',
  ),
  'server.uninstall_under_way': conflict(
    'The agent of this server was already asked to remove itself. Wait for it, or delete the server without its agent.',
  ),
  'server.upgrade_none': conflict(
    'This control plane has no agent for this architecture. Build one there and set FAIRLEAD_AGENT_BINARY.',
  ),
  'agent_rollout.not_found': missing('There is no such agent upgrade.'),
  'agent_rollout.running': conflict('An upgrade of all agents is already running. Wait until it ends, or cancel it.'),
  'agent_rollout.nothing': conflict(
    'No connected server can be upgraded from here: each runs the offered agent, is offline, or has an agent that is too old.',
  ),
  'agent_rollout.not_stopped': conflict('This upgrade of all agents has not stopped, so it cannot be continued.'),
  'agent_rollout.ended': conflict('This upgrade of all agents has already ended.'),
  'enrolment.not_found': missing('There is no such enrolment.'),

  'benchmark.not_found': missing('There is no such benchmark run.'),
  'benchmark.already_running': conflict('A benchmark is already running on this server. Wait for it or cancel it.'),
  'benchmark.queue_full': conflict(
    'The queue of this server is full: 20 benchmarks wait or run there. Wait for one to end, or cancel one.',
  ),
  'benchmark.app_queue_full': conflict(
    'This app already has 5 benchmarks that wait or run on the server. Wait for one to end, or cancel one.',
  ),
  'benchmark.already_finished': conflict('This benchmark run has already finished.'),
  'benchmark.not_publishable': conflict(
    'Only a finished run with results can be published. Wait until it has finished, or start a new run.',
  ),
  'benchmark.not_published': conflict('This run is not published.'),
  'benchmark.reports_max': conflict('The organization already has 100 public reports. Unpublish one first.'),
  'benchmark.not_finished': conflict('This benchmark has not finished. Cancel it first.'),
  'benchmark.published': conflict('This benchmark has a public report. Unpublish it first.'),
  'benchmark.timeout': failed(
    'The server did not finish this benchmark in time. Check that it is connected, then start a new run.',
    {
      retryable: true,
    },
  ),
  'benchmark.unsupported': conflict(
    'The agent of this server is too old for this plan. Upgrade it first, or choose another load.',
  ),
  'benchmark.no_domain': conflict('The app has no domain to send requests to. Attach one first.'),
  'benchmark.foreign_path': conflict(
    'A path of this plan leads to another app or environment on the same host. Request paths of this app only.',
  ),
  'benchmark.never_sleeps': conflict(
    'This app never sleeps, so no request wakes it. Set its minimum of instances to 0 first.',
  ),
  'benchmark.not_copyable': conflict(
    'This app can’t be copied, because it has volumes or listens on a Unix socket. Choose another app server, or measure the app itself.',
  ),
  'benchmark.host_unverified': conflict(
    'Load servers send requests only to a domain that leads to the app’s server or that is proven to be yours. Set up its DNS records first.',
  ),
  'benchmark.load_server_own': conflict(
    'The server of the app can’t be a load server: its requests would not cross the network. Choose other servers.',
  ),
  'benchmark.not_distributable': conflict(
    'Load servers can’t run this plan. They need the upstream This app, the target Fairlead alone and the scenario Matrix or Burst. Each needs at least one client and one request per second. Change the plan, or choose no load servers.',
  ),
  'benchmark.load_server_failed': failed(
    'A server of this run failed or lost its connection. Check that all its servers are connected, then start a new run.',
    {
      retryable: true,
    },
  ),
  'benchmark.no_grpc': conflict(
    'This app doesn’t speak HTTP/2, which gRPC needs. Choose HTTP/2 as the upstream protocol in its traffic settings first.',
  ),
  'benchmark.app_not_running': failed('The app has no healthy instance to measure. Deploy it, then start a new run.'),
  'benchmark.target_unreachable': failed(
    'The benchmark could not reach its target. Check that the app answers, then start a new run.',
    {
      retryable: true,
    },
  ),
  'benchmark_plan.not_found': missing('There is no such benchmark plan.'),
  'benchmark_plan.name_taken': conflict(
    'This app already has a benchmark plan with this name in this environment. Change the name, in the file if you upload one, or rename or delete the other plan.',
  ),
  'benchmark_plan.outdated': conflict(
    'This benchmark plan was changed in the meantime. Load it again, then repeat your change.',
  ),
  'benchmark_plan.no_schedule': conflict('This benchmark plan has no schedule. Set one first.'),
  'benchmark_plan.not_schedulable': conflict(
    'This plan acts on the app or its server, or its requests may change data, so it can’t have a schedule. Choose another scenario or other requests, or remove the schedule.',
  ),
  'benchmark_plan.from_repository': conflict(
    'This plan comes from fairlead.bench.json in the repository. Change or remove the file there, then deploy.',
  ),
  'benchmark_plan.load_server_deleted': conflict(
    'A load server of this plan was deleted. Edit the plan and choose its load servers again.',
  ),
  'benchmark_plan.load_server_offline': conflict(
    'A load server of this plan is not connected. Start its agent, or edit the plan and choose other load servers.',
  ),
  'benchmark_plan.load_server_outdated': conflict(
    'The agent of a load server of this plan is too old. Upgrade it, or edit the plan and choose other load servers.',
  ),
  'benchmark_plan.late': conflict('The control plane did not run at the scheduled time.'),
  'benchmark_plan.too_many': conflict('This app has 50 benchmark plans already. Delete one first.'),
  'benchmark.threshold_missed': failed(
    'The new release missed a threshold of its benchmark gate. Make it meet the gate, or change the gate, then deploy again.',
  ),
  'benchmark.gate_failed': failed(
    'The benchmark gate could not measure the new release. Check that it answers the path of the gate with 2xx under load, then deploy again.',
  ),
  'benchmark.failed': failed('The benchmark could not be finished. The detail beside it says why.', {
    retryable: true,
  }),

  'volume_move.not_found': missing('There is no such move of an app.'),
  'volume_move.under_way': conflict(
    'The volumes of this app are being copied to another server. Wait until the move has ended, or cancel it.',
  ),
  'volume_move.finished': conflict('This move has already ended.'),
  'volume_move.not_failed': conflict('Only a move that failed or was cancelled can be tried again.'),
  'volume_move.unsupported': conflict(
    'The agent of one of these servers cannot copy volumes yet. Upgrade it, then move the apps.',
  ),
  'volume_move.target_drained': conflict(
    'The target server accepts no apps: it is drained, or it was removed. Move the apps to another server.',
  ),
  'volume_move.stuck': failed(
    'The servers did not finish in time. Check that both are connected and have free disk space, then try again.',
    { retryable: true },
  ),
  'volume_move.rollout_failed': failed(
    'The app did not start on the other server, so it runs on the old one again. Its deployments say why.',
  ),
  'snapshot.not_found': missing('There is no such snapshot.'),
  'snapshot.under_way': conflict('A snapshot of this volume is already being taken.'),
  'snapshot.unsupported': conflict('The agent of this server cannot take snapshots yet. Upgrade it first.'),
  'snapshot.stuck': failed('The server did not finish the snapshot in time. The next scheduled snapshot tries again.', {
    retryable: true,
  }),
  'snapshot.not_uploaded': failed('The server reported a snapshot that the control plane does not have. Try again.', {
    retryable: true,
  }),

  // The link: the gateway names one of these before it closes a connection.
  'link.malformed': refused('The message is not one of this protocol.'),
  'link.too_large': refused('The message is larger than the gateway accepts.', 1009),
  'link.unexpected_message': refused('The message does not belong at this point of the conversation.'),
  'link.protocol_unsupported': refused('The control plane does not speak this protocol version. Upgrade the agent.'),
  'link.server_unknown': refused('The control plane does not know this server. Enrol it again.'),
  'link.proof_wrong': refused(
    'The proof does not fit the key that this server enrolled with. Enrol it again if its key was lost.',
  ),
  'link.enrolment_invalid': refused('The enrolment token is not valid. Make a new one in the dashboard under Servers.'),
  'link.enrolment_expired': refused('The enrolment token has expired. Make a new one in the dashboard under Servers.'),
  'link.enrolment_used': refused(
    'The enrolment token was already used. Make a new one in the dashboard under Servers.',
  ),
  'link.server_name_taken': refused(
    'There is already a server with the name of this enrolment. Make a new one with another name under Servers.',
  ),
  'link.timeout': failed('The other side stayed silent for too long.', { link: 1008, retryable: true }),
  'link.replaced': failed(
    'The same server opened a newer connection. Check that only one agent runs with this data folder.',
    {
      link: 1008,
      retryable: true,
    },
  ),
  'link.shutting_down': failed('The gateway is restarting. The agent connects again by itself.', {
    link: 1012,
    retryable: true,
  }),
  'link.internal': failed('The gateway could not store what the agent sent. The agent tries again by itself.', {
    link: 1011,
    retryable: true,
  }),

  // Reason why an agent refused a desired state; its last good state stays in use.
  'state.invalid': failed('The server could not read its desired state. Upgrade the agent.'),
  'state.bad_signature': failed(
    'The desired state is not signed by a key that this server trusts. Enrol the server again if the control plane was replaced.',
  ),
  'state.older': failed(
    'The desired state is older than the one the server has. The control plane may have been restored from a backup.',
  ),
  'state.wrong_server': failed('The desired state is for another server.'),
  'state.capability_missing': failed('The agent lacks something that this desired state needs. Upgrade the agent.'),
  'state.apply_failed': failed('The server could not apply its desired state. The detail beside it says why.', {
    retryable: true,
  }),
} as const satisfies Record<string, ErrorEntry>;
