/**
 * A component as a process of the simulated world: started, ended between any two of its calls, started again with nothing of its memory left.
 * A component that fails by itself is started again after a pause, as a service manager would, and its failure is kept to be told.
 */

import { messageOf } from '../apimachinery/status.ts';
import type { UserInfo } from '../apiserver/request.ts';
import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Client } from '../client/client.ts';
import { type ComponentContext, componentContext } from '../reconcile/component.ts';
import { chanceOf } from './chance.ts';
import { Link, type LinkOptions } from './link.ts';

export interface ProcessOptions extends Pick<LinkOptions, 'server' | 'adversary' | 'delayMs'> {
  readonly name: string;
  readonly seed: number;
  readonly user: UserInfo;
  /** Of the machine it runs on. */
  readonly clock: Clock;
  readonly log: Log;
  /** `clientOf` calls the server as somebody else, over the same link. */
  run(context: ComponentContext, clientOf: (user: UserInfo) => Client): Promise<void>;
  onLostAnswer: LinkOptions['onLostAnswer'];
  onFailure(failure: string): void;
}

interface Incarnation {
  readonly link: Link;
  readonly stopping: AbortController;
}

const restartAfterFailureMs = 1000;
const restartAfterDeathMs = 2000;

export class SimulatedProcess {
  readonly name: string;
  readonly #options: ProcessOptions;
  #incarnations = 0;
  #current: Incarnation | undefined;
  #isCut = false;
  #restart: Timer | undefined;

  constructor(options: ProcessOptions) {
    this.name = options.name;
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#current !== undefined;
  }

  /** How often it was started. */
  get incarnations(): number {
    return this.#incarnations;
  }

  start(): void {
    if (this.#current) return;
    this.#restart?.cancel();
    const { name, seed, user, clock, run, onFailure } = this.#options;
    const part = `${name}#${this.#incarnations++}`;
    const stopping = new AbortController();
    const link = new Link({
      ...this.#options,
      component: name,
      random: chanceOf(seed, `way of ${part}`),
      onDeath: () => this.#die(incarnation),
    });
    if (this.#isCut) link.cut();
    const incarnation = { link, stopping };
    this.#current = incarnation;
    const context = componentContext({
      client: link.client(user),
      clock,
      random: chanceOf(seed, part),
      log: this.#options.log.child({ component: name }),
      signal: stopping.signal,
    });
    run(context, (other) => link.client(other)).then(
      () => this.#ended(incarnation),
      (error: unknown) => {
        if (stopping.signal.aborted) return;
        onFailure(`${name}: ${messageOf(error)}`);
        this.crash(restartAfterFailureMs);
      },
    );
  }

  /** At once, in the midst of whatever it does; started again after a while, unless that is Infinity. */
  crash(restartAfterMs = restartAfterDeathMs): void {
    this.#restart?.cancel();
    const incarnation = this.#current;
    this.#current = undefined;
    if (incarnation) end(incarnation);
    if (restartAfterMs < Number.POSITIVE_INFINITY)
      this.#restart = this.#options.clock.after(restartAfterMs, () => this.start());
  }

  /** Its way to the API server is cut, whoever runs. */
  cut(): void {
    this.#isCut = true;
    this.#current?.link.cut();
  }

  mend(): void {
    this.#isCut = false;
    this.#current?.link.mend();
  }

  /** The server has ended all connections. */
  disconnect(): void {
    this.#current?.link.disconnect();
  }

  /** By a fault, during one of its own calls; one that has been succeeded meanwhile is dead already. */
  #die(incarnation: Incarnation): void {
    if (incarnation === this.#current) this.crash();
  }

  #ended(incarnation: Incarnation): void {
    if (incarnation === this.#current) this.#current = undefined;
  }
}

function end({ link, stopping }: Incarnation): void {
  link.kill();
  stopping.abort(new Error('the process has ended'));
}
