/**
 * Who may use the kubelet's server: everybody is asked who they are, and each path needs a right on a subresource of this node, which
 * `kubelet` users find in upstream's documentation of kubelet authorization.
 */
import type { IncomingMessage } from 'node:http';
import { messageOf } from '../../apimachinery/status.ts';
import type { Log } from '../../base/log.ts';
import type { Authenticate, UserInfo } from '../../serving/delegated-authentication.ts';
import type { Authorize } from '../../serving/delegated-authorization.ts';
import { failure, type Reply } from './replies.ts';

export interface Access {
  readonly nodeName: string;
  readonly authenticate: Authenticate;
  readonly authorize: Authorize;
  readonly log: Log;
}

const verbs: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Paths whose right can be given alone, beside the right to everything. */
const fineGrained: readonly (readonly [path: string, subresource: string])[] = [
  ['/pods', 'pods'],
  ['/healthz', 'healthz'],
  ['/configz', 'configz'],
  ['/runningpods', 'pods'],
];
/** Paths that the right to everything does not open. */
const separate: readonly (readonly [path: string, subresource: string])[] = [
  ['/stats', 'stats'],
  ['/metrics', 'metrics'],
  ['/logs', 'log'],
  ['/spec', 'spec'],
  ['/checkpoint', 'checkpoint'],
  ['/statusz', 'statusz'],
  ['/flagz', 'configz'],
];

/** Subresources of `nodes` of which any one right is enough, in the order they are asked. */
export function subresourcesOf(path: string): readonly string[] {
  const find = (table: typeof separate) =>
    table.find(([prefix]) => path === prefix || path.startsWith(`${prefix}/`))?.[1];
  const fine = find(fineGrained);
  const rest = find(separate) ?? 'proxy';
  return fine === undefined ? [rest] : [fine, rest];
}

function verbOf(method: string | undefined): string {
  return verbs[method ?? ''] ?? '';
}

/** Undefined: they may. Otherwise the answer that refuses. */
export async function refusal(access: Access, request: IncomingMessage, path: string): Promise<Reply | undefined> {
  const { authenticate, log } = access;
  let user: UserInfo | undefined;
  try {
    user = await authenticate(request);
  } catch (error) {
    log.info('a request could not be authenticated', { path, error: messageOf(error) });
  }
  if (!user) return failure(401, 'Unauthorized');
  return refusalOf(access, user, { path, verb: verbOf(request.method) });
}

async function refusalOf(
  { authorize, nodeName, log }: Access,
  user: UserInfo,
  { path, verb }: { readonly path: string; readonly verb: string },
): Promise<Reply | undefined> {
  const subresources = subresourcesOf(path);
  for (const subresource of subresources) {
    try {
      const resource = { verb, group: '', version: 'v1', resource: 'nodes', subresource, name: nodeName };
      if ((await authorize({ user, resource })).allowed) return undefined;
    } catch (error) {
      log.warn('cannot find out whether a request is allowed', { user: user.name, path, error: messageOf(error) });
      const about = `user=${user.name}, verb=${verb}, resource=nodes, subresource=${subresource}`;
      return failure(500, `Authorization error (${about})`);
    }
  }
  const about = `user=${user.name}, verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(' ')}]`;
  return failure(403, `Forbidden (${about})\n`);
}
