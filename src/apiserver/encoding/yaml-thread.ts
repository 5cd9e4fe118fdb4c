/**
 * Long YAML bodies are read in a thread of their own (`yaml-worker.ts`), for reading them takes seconds: what else the server
 * has to do goes on meanwhile. One document is read at a time and a bounded number waits; a thread that takes too long or too
 * much memory is ended, and the next document gets a new one. Without work the thread ends by itself.
 */
import { Worker } from 'node:worker_threads';
import { timeout, tooManyRequests } from '../../apimachinery/status.ts';
import { type YamlConversion, yamlToJson } from '../../apimachinery/yaml-text.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { ownExtension } from '../../base/own-imports.ts';

export type YamlConverter = (text: string) => YamlConversion;

/** Characters; shorter ones without anchors, which make much of little, are read at once, in some tens of milliseconds at worst. */
const longFrom = 8 * 1024;
const mostWaiting = 32;
const longestMs = 30_000;
const idleMs = 30_000;
const heapMegabytes = 512;

interface Task {
  readonly text: string;
  readonly settle: (converter: YamlConverter) => void;
  readonly fail: (error: Error) => void;
}

type Answer = { readonly conversion: YamlConversion } | { readonly problem: string };

/** A request, as far as reading its YAML goes. */
interface YamlReader {
  readonly yamlThread?: YamlThread | undefined;
  readonly signal: AbortSignal;
}

/** How this body is to be read. Rejects with 429 when too many wait, 504 when it takes too long. */
export async function yamlConverter({ yamlThread, signal }: YamlReader, text: string): Promise<YamlConverter> {
  const short = text.length < longFrom && !text.includes('&');
  return short || !yamlThread ? yamlToJson : yamlThread.read(text, signal);
}

const gone = () => new Error('the client has gone away');

export class YamlThread {
  readonly #clock: Clock;
  readonly #waiting: Task[] = [];
  #worker: Worker | undefined;
  #current: Task | undefined;
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Rejects with the signal's reason as soon as it is aborted: what nobody waits for is not read. */
  read(text: string, signal: AbortSignal): Promise<YamlConverter> {
    if (this.#waiting.length >= mostWaiting) {
      return Promise.reject(tooManyRequests('too many long YAML bodies are being read, please try again later', 1));
    }
    return new Promise((resolve, reject) => {
      const leave = () => this.#leave(task);
      const done = () => signal.removeEventListener('abort', leave);
      const task: Task = {
        text,
        settle: (converter) => {
          done();
          resolve(converter);
        },
        fail: (error) => {
          done();
          reject(signal.aborted ? signal.reason : error);
        },
      };
      if (signal.aborted) return task.fail(signal.reason as Error);
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(task);
      this.#next();
    });
  }

  close(): void {
    const waiting = this.#waiting.splice(0);
    this.#end(new Error('the server is shutting down'));
    for (const { fail } of waiting) fail(new Error('the server is shutting down'));
  }

  #leave(task: Task): void {
    const place = this.#waiting.indexOf(task);
    if (place >= 0) this.#waiting.splice(place, 1)[0]?.fail(gone());
    else if (this.#current === task) this.#end(gone());
  }

  #next(): void {
    if (this.#current) return;
    this.#timer?.cancel();
    this.#current = this.#waiting.shift();
    if (!this.#current) {
      if (this.#worker) this.#timer = this.#clock.after(idleMs, () => this.#end());
      return;
    }
    this.#worker ??= this.#start();
    this.#worker.postMessage(this.#current.text);
    this.#timer = this.#clock.after(longestMs, () =>
      this.#end(timeout('request did not complete within the allotted timeout')),
    );
  }

  #start(): Worker {
    const worker = new Worker(new URL(`./yaml-worker${ownExtension}`, import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: heapMegabytes },
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    worker.unref();
    worker.on('message', (answer: Answer) => this.#answered(answer));
    worker.on('error', () => {
      if (worker !== this.#worker) return;
      this.#worker = undefined;
      this.#answered({ problem: 'yaml: the document needs too much memory' });
    });
    return worker;
  }

  #answered(answer: Answer): void {
    const task = this.#current;
    this.#current = undefined;
    task?.settle(() => {
      if ('problem' in answer) throw new Error(answer.problem);
      return answer.conversion;
    });
    this.#next();
  }

  /** Ends the thread; whoever it was reading for gets the error. */
  #end(error?: Error): void {
    const task = this.#current;
    this.#timer?.cancel();
    void this.#worker?.terminate();
    this.#worker = undefined;
    this.#current = undefined;
    if (!error) return;
    task?.fail(error);
    this.#next();
  }
}
