/**
 * exec, attach, port-forward and run: finds the container and lets the runtime say where the session goes on. A client that speaks what
 * the runtime speaks is passed on as it is; the newest WebSocket protocols are translated; a session of a runtime in this process is
 * served here.
 */
import { messageOf, StatusError } from '../../apimachinery/status.ts';
import type { Log } from '../../base/log.ts';
import { acceptPortForward, acceptTunnel } from '../../serving/port-forward.ts';
import {
  acceptCommand,
  asksStreamClose,
  asksTunnel,
  bridge,
  type CommandStreams,
  commandFailure,
  exitCodeStatus,
  isWebSocket,
  tunnelSpdy,
} from '../../serving/remote-command.ts';
import { passUpgrade, responseText, type UpgradeRequest } from '../../serving/upgrade.ts';
import type { Container, StreamingEndpoint, StreamingRequest } from '../runtime/runtime.ts';
import { isRuntimeNotFound, runtimeLabels } from '../runtime/runtime.ts';
import type { KubeletView } from './kubelet-view.ts';
import { failure, Refusal, type Reply, wrongMethod } from './replies.ts';

export interface StreamingRoute {
  readonly kind: 'exec' | 'attach' | 'portForward';
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

type LocalEndpoint = StreamingEndpoint & { readonly kind: 'local' };

/** Runs the session to its end, or gives the answer that refuses it. */
export async function serveStreaming(
  view: KubeletView,
  client: UpgradeRequest,
  route: StreamingRoute,
): Promise<Reply | undefined> {
  const { method } = client.request;
  if (method !== 'GET' && method !== 'POST') return wrongMethod();
  try {
    return route.kind === 'portForward' ? await portForward(view, client, route) : await command(view, client, route);
  } catch (error) {
    if (error instanceof Refusal) return failure(error.status, error.message);
    return failure(isRuntimeNotFound(error) ? 404 : 500, messageOf(error));
  }
}

async function command(view: KubeletView, client: UpgradeRequest, route: StreamingRoute): Promise<Reply | undefined> {
  const { kind, segments, query } = route;
  let streams = requestedStreams(query);
  const [namespace = '', name = ''] = segments;
  const containerName = segments.at(-1) ?? '';
  const pod = podOf(view, { namespace, name });
  const uid = segments.length > 3 ? segments[2]! : (pod.metadata.uid ?? '');
  const container = await runningContainer(view, uid, containerName);
  if (kind === 'attach') {
    const fullName = `${name}_${namespace}`;
    if (!container) throw new Refusal(500, `container ${containerName} not found in pod ${fullName}`);
    const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
    const all = [...containers, ...initContainers, ...ephemeralContainers];
    const tty = all.find((candidate) => candidate.name === containerName)?.tty ?? false;
    // Whether the process has a terminal was settled when it was started.
    streams = { ...streams, tty };
  } else if (!container) throw new Refusal(500, `container not found (${JSON.stringify(containerName)})`);
  const endpoint =
    kind === 'exec'
      ? await view.runtime.exec(container.id, query.getAll('command'), streams)
      : await view.runtime.attach(container.id, streams);
  if (endpoint.kind === 'local') return runLocally(client, endpoint, { streams, kind });
  if (!asksStreamClose(client.request.headers)) return pass(client, endpoint.url);
  const accepted = await acceptCommand(client, streams);
  if (accepted) await bridge(accepted, { url: new URL(endpoint.url) }, streams);
  return undefined;
}

/** Throws when nothing is asked for. */
function requestedStreams(query: URLSearchParams): StreamingRequest {
  const asked = (name: string) => query.get(name) === '1';
  const tty = asked('tty');
  const streams = { stdin: asked('input'), stdout: asked('output'), stderr: asked('error') && !tty, tty };
  if (!streams.stdin && !streams.stdout && !asked('error')) {
    throw new Refusal(400, 'you must specify at least 1 of stdin, stdout, stderr');
  }
  return streams;
}

function podOf(view: KubeletView, { namespace, name }: { readonly namespace: string; readonly name: string }) {
  const pod = view.pod(namespace, name);
  if (!pod) throw new Refusal(404, 'pod does not exist');
  return pod;
}

/** The newest one of that name. */
export async function runningContainer(
  view: KubeletView,
  podUid: string,
  name: string,
): Promise<Container | undefined> {
  const labels = { [runtimeLabels.podUid]: podUid, [runtimeLabels.containerName]: name };
  const found = await view.runtime.listContainers({ labels, state: 'running' });
  return found.toSorted((a, b) => b.createdAtMs - a.createdAtMs)[0];
}

async function pass(client: UpgradeRequest, url: string): Promise<Reply | undefined> {
  try {
    await passUpgrade(client, { url: new URL(url) });
    return undefined;
  } catch (error) {
    return failure(500, `error dialing backend: ${messageOf(error)}`);
  }
}

async function runLocally(
  client: UpgradeRequest,
  endpoint: LocalEndpoint,
  { streams, kind }: { readonly streams: StreamingRequest; readonly kind: string },
): Promise<undefined> {
  const accepted = await acceptCommand(client, streams);
  if (!accepted) return;
  const doing = kind === 'exec' ? 'executing command in' : 'attaching to';
  await accepted.finish(await outcome(accepted, endpoint, doing));
}

async function outcome(streams: CommandStreams, endpoint: LocalEndpoint, doing: string): Promise<unknown> {
  try {
    const { stdin, signal } = streams;
    const local = {
      stdin,
      stdout: (chunk: Uint8Array) => void streams.stdout(chunk),
      stderr: (chunk: Uint8Array) => void streams.stderr(chunk),
    };
    return exitCodeStatus(await endpoint.run(local, { signal }));
  } catch (error) {
    if (error instanceof StatusError) return error.status;
    return commandFailure(`error ${doing} container: ${messageOf(error)}`);
  }
}

async function portForward(
  view: KubeletView,
  client: UpgradeRequest,
  { segments, query }: StreamingRoute,
): Promise<Reply | undefined> {
  const { headers } = client.request;
  const [namespace = '', name = '', uid] = segments;
  const ports = isWebSocket(headers) && !asksTunnel(headers) ? requestedPorts(query) : [];
  const pod = podOf(view, { namespace, name });
  if (uid && uid !== pod.metadata.uid) throw new Refusal(404, 'pod not found');
  const labels = { [runtimeLabels.podUid]: pod.metadata.uid ?? '' };
  const sandboxes = await view.runtime.listPodSandboxes({ labels, state: 'ready' });
  const [sandbox] = sandboxes.toSorted((a, b) => b.createdAtMs - a.createdAtMs);
  if (!sandbox) throw new Refusal(500, `pod not found (${JSON.stringify(`${name}_${namespace}`)})`);
  const endpoint = await view.runtime.portForward(sandbox.id, ports);
  if (endpoint.kind === 'local') return forwardLocally(client, endpoint);
  if (!asksTunnel(headers)) return pass(client, endpoint.url);
  const refused = await tunnelSpdy(client, { url: new URL(endpoint.url) });
  return refused && failure(refused.statusCode ?? 500, await responseText(refused));
}

function forwardLocally(client: UpgradeRequest, endpoint: LocalEndpoint): Reply | undefined {
  const accept = asksTunnel(client.request.headers) ? acceptTunnel : acceptPortForward;
  if (accept === acceptPortForward && isWebSocket(client.request.headers)) {
    return failure(400, 'the runtime of this node forwards ports over SPDY only');
  }
  accept(client, async (port, data, signal) => {
    const nothing = () => {};
    await endpoint.run(
      { stdin: data.incoming, stdout: (chunk) => void data.write(chunk), stderr: nothing },
      { signal, port },
    );
  });
  return undefined;
}

/** Clients with the old WebSocket protocol name their ports beforehand. */
function requestedPorts(query: URLSearchParams): number[] {
  const texts = query.getAll('port');
  if (texts.length === 0) throw new Refusal(400, 'query parameter "port" is required');
  return texts
    .flatMap((text) => text.split(','))
    .map((text) => {
      if (text === '') throw new Refusal(400, 'query parameter "port" cannot be empty');
      const port = /^\d+$/.test(text) ? Number(text) : Number.NaN;
      if (Number.isNaN(port) || port > 65_535) {
        const reason = Number.isNaN(port) ? 'invalid syntax' : 'value out of range';
        const cause = `strconv.ParseUint: parsing ${JSON.stringify(text)}: ${reason}`;
        throw new Refusal(400, `unable to parse ${JSON.stringify(text)} as a port: ${cause}`);
      }
      if (port < 1) throw new Refusal(400, `port ${JSON.stringify(text)} must be > 0`);
      return port;
    });
}

/** `/run/NAMESPACE/POD[/UID]/CONTAINER?cmd=...`: runs a command to its end; its output, both streams together, is the answer. */
export async function runCommand(
  view: KubeletView,
  segments: readonly string[],
  options: { readonly query: URLSearchParams; readonly log: Log },
): Promise<Reply> {
  const [namespace = '', name = ''] = segments;
  const containerName = segments.at(-1) ?? '';
  try {
    const pod = podOf(view, { namespace, name });
    const container = await runningContainer(view, pod.metadata.uid ?? '', containerName);
    if (!container) throw new Refusal(500, `container not found (${JSON.stringify(containerName)})`);
    const words = (options.query.get('cmd') ?? '').split(' ');
    const { stdout, stderr, exitCode } = await view.runtime.execSync(container.id, words);
    const output = Buffer.concat([stdout, stderr]);
    if (exitCode !== 0) throw new Refusal(500, `command '${words.join(' ')}' exited with ${exitCode}: ${output}`);
    return { status: 200, headers: { 'content-type': 'application/json' }, body: output };
  } catch (error) {
    options.log.debug('a command was not run', { namespace, name, error: messageOf(error) });
    return failure(error instanceof Refusal ? error.status : 500, messageOf(error));
  }
}
