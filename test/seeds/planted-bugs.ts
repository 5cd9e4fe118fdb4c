/**
 * Bugs planted into the components from outside, by changing what they are told, what they say, or how they are set up: the net of
 * invariants must catch each. `seed` is the first that does; found by `node test/seeds/find-planted-bugs.ts`.
 */
import type { KubeObject } from '../../src/apimachinery/meta.ts';
import type { ApiRequest, ApiResponse, WatchFrame } from '../../src/apiserver/request.ts';
import type { Adversary } from '../../src/sim/index.ts';
import type { SeedOptions } from '../../src/sim/seeds/seed-run.ts';

export interface PlantedBug {
  /** What the programmer got wrong. */
  readonly bug: string;
  readonly seed: number;
  /** Part of what the checks say of it. */
  readonly caughtAs: RegExp;
  /** Part of every run of the suite; the others take longer. */
  readonly inCi?: boolean;
  readonly plant: () => SeedOptions;
}

const manager = 'kube-controller-manager';
const scheduler = 'kube-scheduler';

interface Match {
  readonly component?: string | RegExp;
  readonly method?: string;
  readonly path: RegExp;
  /** Who asks, by the name of the service account. */
  readonly user?: string;
}

function matches({ component, method, path, user }: Match, request: ApiRequest, from: string): boolean {
  const fits = component === undefined || (typeof component === 'string' ? component === from : component.test(from));
  const isUser = user === undefined || (request.user?.name.endsWith(`:${user}`) ?? false);
  return fits && isUser && (method === undefined || method === request.method) && path.test(request.path);
}

/** The call seems to succeed, and nothing happens. */
function swallow(match: Match): () => SeedOptions {
  return () => ({
    mutation: {
      replace: (request, component) => (matches(match, request, component) ? succeeded(request) : undefined),
    },
  });
}

function succeeded({ body }: ApiRequest): ApiResponse {
  const object =
    body.kind === 'value' ? body.value : { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' };
  return { status: 200, headers: {}, body: { kind: 'object', object } };
}

/** The call says something else. */
function rewrite(match: Match, change: (body: Body) => unknown): () => SeedOptions {
  return () => ({
    mutation: {
      replace(request, component) {
        if (!matches(match, request, component) || request.body.kind !== 'value') return undefined;
        const value = change(structuredClone(request.body.value) as Body);
        return { ...request, body: { kind: 'value', value } };
      },
    },
  });
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of many kinds are changed at will.
type Body = any;

/** The component does not hear of some events. */
function deaf(match: Match, isHeard: (frame: WatchFrame, count: number) => boolean): () => SeedOptions {
  return () => {
    let count = 0;
    const mutation: Adversary = {
      watch(request, component, batch) {
        if (!matches(match, request, component)) return undefined;
        const frames = batch.filter((frame) => frame.type === 'BOOKMARK' || isHeard(frame, count++));
        return frames.length === batch.length ? undefined : { frames };
      },
    };
    return { mutation };
  };
}

const without =
  (...controllers: readonly string[]) =>
  (): SeedOptions => ({
    controllerManager: { controllers: ['*', ...controllers.map((name) => `-${name}`)] },
  });

function withoutRequests(frame: WatchFrame): WatchFrame {
  const pod = structuredClone(frame.object) as Body;
  for (const container of pod.spec?.containers ?? []) delete container.resources;
  return { ...frame, object: pod };
}

const nameOf = (object: unknown) => (object as KubeObject).metadata.name ?? '';
const podsPath = /\/pods$/;

export const plantedBugs: readonly PlantedBug[] = [
  {
    bug: 'controllers miss the end of Pods: nothing is enqueued again, and expectations of deletions are never lowered',
    seed: 1,
    caughtAs: /./,
    plant: deaf({ component: manager, path: podsPath }, ({ type }) => type !== 'DELETED'),
  },
  {
    bug: 'controllers never hear of some Pods: an expectation of a creation is never lowered',
    seed: 1,
    caughtAs: /./,
    plant: deaf({ component: manager, path: podsPath }, ({ object }) => !/[b-g]$/.test(nameOf(object))),
  },
  {
    bug: 'a stale read is trusted: a watch that broke off goes on from now, and what was deleted meanwhile is believed to be there',
    seed: 1,
    caughtAs: /pods of|replicas|web leads to|budget|job|statefulset|outlived/,
    plant: () => ({
      mutation: {
        replace(request, component) {
          if (component !== manager || !podsPath.test(request.path) || !request.query.has('watch')) return undefined;
          const query = new URLSearchParams(request.query);
          query.delete('resourceVersion');
          return { ...request, query };
        },
        watch: ({ path }, component, batch) =>
          component === manager && podsPath.test(path) && batch.some(({ type }) => type === 'DELETED')
            ? { ends: true }
            : undefined,
      },
    }),
  },
  {
    bug: 'the rate of evictions is ignored',
    seed: 8,
    caughtAs: /are emptied within/,
    inCi: true,
    plant: () => ({
      controllerManager: {
        nodeLifecycle: { evictionRate: 1000, secondaryEvictionRate: 1000, largeClusterThreshold: 0 },
      },
    }),
  },
  {
    bug: 'a rollout asks for two more than it may',
    seed: 1,
    caughtAs: /at most \d+ are allowed|replicas|pods of/,
    plant: rewrite({ user: 'deployment-controller', method: 'PUT', path: /\/replicasets\/[^/]+$/ }, (body) => {
      if (body.spec.replicas > 0) body.spec.replicas += 2;
      return body;
    }),
  },
  {
    bug: 'a new ReplicaSet begins with all its replicas, whatever the surge',
    seed: 1,
    caughtAs: /at most \d+ are allowed/,
    inCi: true,
    plant: rewrite({ user: 'deployment-controller', method: 'POST', path: /\/replicasets$/ }, (body) => {
      body.spec.replicas = Number(body.metadata.annotations['deployment.kubernetes.io/desired-replicas']) + 3;
      return body;
    }),
  },
  {
    bug: 'the scheduler forgets what runs on a node: it hears of every second Pod only',
    seed: 3,
    caughtAs: /is asked for|OutOf|pods of|not ready/,
    plant: deaf({ component: scheduler, path: podsPath }, (_, count) => count % 2 === 0),
  },
  {
    bug: 'the scheduler does not hear that a node is cordoned or gone',
    seed: 3,
    caughtAs: /./,
    plant: deaf({ component: scheduler, path: /\/nodes$/ }, ({ type }) => type === 'ADDED'),
  },
  {
    bug: 'what a node can take is not looked at: Pods without requests, as far as the scheduler knows',
    seed: 7,
    caughtAs: /is asked for|OutOf/,
    plant: () => ({
      mutation: {
        watch(request, component, batch) {
          if (!matches({ component: scheduler, path: podsPath }, request, component)) return undefined;
          return { frames: batch.map(withoutRequests) };
        },
      },
    }),
  },
  {
    bug: 'the kubelet does not remove Pods that have ended',
    seed: 1,
    caughtAs: /is still terminating/,
    plant: swallow({ component: /^kubelet/, method: 'DELETE', path: /\/pods\// }),
  },
  {
    bug: 'the kubelet does not tell that a Pod is ready',
    seed: 1,
    caughtAs: /not ready/,
    plant: rewrite({ component: /^kubelet/, method: 'PATCH', path: /\/pods\/[^/]+\/status$/ }, (body) => {
      body.status.conditions = body.status.conditions?.filter(({ type }: { type: string }) => type !== 'Ready');
      return body;
    }),
  },
  {
    bug: 'the kubelet believes that its Lease was renewed',
    seed: 1,
    caughtAs: /./,
    plant: swallow({ component: /^kubelet/, method: 'PUT', path: /\/leases\// }),
  },
  {
    bug: 'taints of nodes that are well again are not removed',
    seed: 1,
    caughtAs: /still has the taint/,
    plant: rewrite({ user: 'node-controller', method: 'PATCH', path: /\/nodes\/[^/]+$/ }, (body) => {
      if (body.spec?.taints?.length === 0 || body.spec?.taints === null) delete body.spec;
      return body;
    }),
  },
  {
    bug: 'the status of ReplicaSets is written once and not again',
    seed: 2,
    caughtAs: /./,
    plant: () => {
      const seen = new Set<string>();
      const match = { user: 'replicaset-controller', method: 'PUT', path: /\/replicasets\/[^/]+\/status$/ };
      return {
        mutation: {
          replace(request, component) {
            if (!matches(match, request, component)) return undefined;
            if (seen.has(request.path)) return succeeded(request);
            seen.add(request.path);
            return undefined;
          },
        },
      };
    },
  },
  {
    bug: 'Pods are created twice: a create that succeeded is sent again',
    seed: 1,
    caughtAs: /active pods, at most/,
    inCi: true,
    plant: () => ({
      mutation: {
        // The controller believes that its request was lost, and tries again.
        call: (request) =>
          request.method === 'POST' &&
          podsPath.test(request.path) &&
          request.user?.name.endsWith(':replicaset-controller')
            ? 'repeat'
            : undefined,
      },
    }),
  },
  {
    bug: 'finalizers of Pods of Jobs are not removed',
    seed: 1,
    caughtAs: /is still terminating|job/,
    plant: swallow({ user: 'job-controller', method: 'PATCH', path: /\/pods\// }),
  },
  {
    bug: 'nothing collects what has lost its owner',
    seed: 1,
    caughtAs: /outlived its owner|still terminating/,
    inCi: true,
    plant: without('garbage-collector-controller'),
  },
  {
    bug: 'the Pods of a Job that have ended are not counted',
    seed: 1,
    caughtAs: /job .* is not complete/,
    plant: swallow({ user: 'job-controller', method: 'PUT', path: /\/jobs\/[^/]+\/status$/ }),
  },
  {
    bug: 'EndpointSlices are not updated when a Pod stops being ready',
    seed: 2,
    caughtAs: /service web leads to/,
    plant: swallow({ user: 'endpointslice-controller', method: 'PUT', path: /\/endpointslices\// }),
  },
  {
    bug: 'budgets are counted once',
    seed: 1,
    caughtAs: /budget web counts/,
    plant: swallow({ user: 'disruption-controller', method: 'PUT', path: /\/poddisruptionbudgets\// }),
  },
  {
    bug: 'a write is acknowledged before it is done, and lost',
    seed: 2,
    caughtAs: /was acknowledged to hold/,
    inCi: true,
    plant: () => {
      let count = 0;
      return {
        mutation: {
          replace: (request) =>
            request.method === 'PUT' && /\/configmaps\/ledger-/.test(request.path) && ++count % 3 === 0
              ? succeeded(request)
              : undefined,
        },
      };
    },
  },
];
