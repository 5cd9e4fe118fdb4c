/**
 * The priority levels in force and which requests belong to them. Made anew from the cluster's objects at each change: the server's
 * seats are divided by shares, levels that are gone stay until their last request is done, mandatory objects that are missing are
 * imagined, and a schema whose level does not exist counts for nothing.
 *
 * Every ten seconds seats are lent: a level that wants more than its own may use what others do not, within the bounds of both.
 */
import { catchAllName, mandatoryLevels, mandatorySchemas } from '../../api/flowcontrol/v1/mandatory.ts';
import type { FlowSchema, PriorityLevelConfiguration } from '../../api/gen/flowcontrol-v1.ts';
import type { Clock } from '../../base/clock.ts';
import type { RequestInfo, UserInfo } from '../request.ts';
import { allocateSeats, type SeatClaim } from './concurrency-allocation.ts';
import { DroppedRequests } from './dropped-requests.ts';
import { FlowCounts } from './flow-counts.ts';
import { PriorityLevel } from './priority-level.ts';
import { type RequestMatcher, requestMatcher } from './request-match.ts';

/** A FlowSchema in force. */
export interface Flow {
  readonly name: string;
  readonly level: PriorityLevel;
  readonly distinguisher: 'ByUser' | 'ByNamespace' | undefined;
  readonly matches: RequestMatcher;
  readonly counts: FlowCounts;
  /** Told with every answer. */
  readonly headers: Readonly<Record<string, string>>;
  readonly dropped: DroppedRequests;
}

export interface PriorityLevelsOptions {
  readonly clock: Clock;
  /** Seats of the whole server. */
  readonly totalSeats: number;
}

const precedenceOf = ({ spec }: FlowSchema) => spec.matchingPrecedence ?? 1000;

export class PriorityLevels {
  readonly #clock: Clock;
  readonly #totalSeats: number;
  #levels = new Map<string, PriorityLevel>();
  #flows: readonly Flow[] = [];
  #catchAll: Flow | undefined;
  /** More than the server's, since each level's seats are rounded up. */
  #nominalSum = 0;
  /** What was counted outlives a change of the configuration. */
  readonly #counts = new Map<string, FlowCounts>();
  readonly #dropped = new Map<string, DroppedRequests>();
  fairFraction = 0;

  constructor({ clock, totalSeats }: PriorityLevelsOptions) {
    this.#clock = clock;
    this.#totalSeats = totalSeats;
    this.configure([], []);
  }

  /** By name. */
  get levels(): readonly PriorityLevel[] {
    return [...this.#levels.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  get counts(): IterableIterator<FlowCounts> {
    return this.#counts.values();
  }

  /** Whether a schema may refer to it. */
  has(levelName: string): boolean {
    const level = this.#levels.get(levelName);
    return level !== undefined && !level.quiescing;
  }

  /** Malformed levels count for nothing; requests under way keep their seats. */
  configure(levels: readonly PriorityLevelConfiguration[], schemas: readonly FlowSchema[]): void {
    const next = new Map<string, PriorityLevel>();
    for (const object of withMandatory(levels.filter(PriorityLevel.isSound), mandatoryLevels)) {
      const name = object.metadata.name ?? '';
      const level = this.#levels.get(name) ?? new PriorityLevel(name, this.#clock);
      level.object = object;
      level.quiescing = false;
      next.set(name, level);
    }
    const sound = schemas.filter(({ spec }) => next.has(spec.priorityLevelConfiguration.name));
    this.#flows = withMandatory(sound, mandatorySchemas)
      .sort((a, b) => precedenceOf(a) - precedenceOf(b) || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
      .map((schema) => this.#flowOf(schema, next));
    this.#catchAll = this.#flows.find(({ name }) => name === catchAllName);
    for (const [name, level] of this.#levels) {
      if (next.has(name) || level.queues.idle) continue;
      level.quiescing = true;
      next.set(name, level);
    }
    this.#levels = next;
    this.#divide();
  }

  /** Of the schemas that match the one of lowest precedence; there is always one. */
  flowOf(user: UserInfo, info: RequestInfo): Flow {
    for (const flow of this.#flows) if (flow.matches(user, info)) return flow;
    return this.#catchAll!;
  }

  /** Ends a period of measured demand and lends seats for the next. */
  adjust(): void {
    this.#lend();
    for (const [name, level] of this.#levels) {
      if (!level.quiescing || !level.queues.idle) continue;
      this.#levels.delete(name);
      this.#divide();
    }
  }

  #flowOf(schema: FlowSchema, levels: ReadonlyMap<string, PriorityLevel>): Flow {
    const { metadata, spec } = schema;
    const name = metadata.name ?? '';
    const level = levels.get(spec.priorityLevelConfiguration.name)!;
    const type = spec.distinguisherMethod?.type;
    return {
      name,
      level,
      distinguisher: type === 'ByUser' || type === 'ByNamespace' ? type : undefined,
      matches: requestMatcher(schema),
      counts: remembered(this.#counts, `${level.name} ${name}`, () => new FlowCounts(name, level.name)),
      headers: {
        'x-kubernetes-pf-flowschema-uid': metadata.uid ?? '',
        'x-kubernetes-pf-prioritylevel-uid': level.object.metadata.uid ?? '',
      },
      dropped: remembered(this.#dropped, level.name, () => new DroppedRequests(this.#clock)),
    };
  }

  #divide(): void {
    const levels = [...this.#levels.values()];
    const shares = levels.reduce((sum, level) => sum + level.shares, 0);
    this.#nominalSum = 0;
    for (const level of levels) {
      level.divide({ seats: Math.ceil((this.#totalSeats * level.shares) / shares), totalSeats: this.#totalSeats });
      this.#nominalSum += level.nominalSeats;
    }
    this.#lend();
  }

  #lend(): void {
    const limited: PriorityLevel[] = [];
    const claims: SeatClaim[] = [];
    let left = this.#nominalSum;
    let least = 0;
    let wanted = 0;
    for (const level of this.#levels.values()) {
      level.queues.demand.endPeriod();
      if (level.exempt) {
        left -= level.claimedSeats;
        level.limit(level.claimedSeats);
        continue;
      }
      limited.push(level);
      claims.push(level.claim());
      least += level.leastSeats;
      wanted += level.claimedSeats;
    }
    const fair = left > wanted ? allocateSeats(this.#nominalSum, claims) : undefined;
    this.fairFraction = fair?.proportion ?? 0;
    limited.forEach((level, index) => {
      if (left <= least) level.limit(level.leastSeats);
      else if (left <= wanted) {
        const share = (left - least) / (wanted - least);
        level.limit(level.leastSeats + Math.round((level.claimedSeats - level.leastSeats) * share));
      } else level.limit(Math.round(fair?.seats[index] ?? level.queues.limit));
    });
  }
}

function withMandatory<T extends FlowSchema | PriorityLevelConfiguration>(
  present: readonly T[],
  mandatory: readonly T[],
): T[] {
  const names = new Set(present.map(({ metadata }) => metadata.name));
  return [...present, ...mandatory.filter(({ metadata }) => !names.has(metadata.name))];
}

function remembered<T>(known: Map<string, T>, key: string, make: () => T): T {
  let value = known.get(key);
  if (value === undefined) {
    value = make();
    known.set(key, value);
  }
  return value;
}
