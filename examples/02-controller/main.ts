/** Runs the controller against the cluster of a kubeconfig, until interrupted. */
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { createClient, createHttpTransport, parseKubeconfig, transportOptions } from 'coracle/client';
import { componentContext, silentLog, systemClock, systemRandom } from 'coracle/reconcile';
import { runCopyController } from './controller.ts';

const { values } = parseArgs({
  options: { kubeconfig: { type: 'string', default: `${process.env.HOME}/.kube/config` } },
});
const config = parseKubeconfig(await readFile(values.kubeconfig, 'utf8'), dirname(values.kubeconfig));
const read = (path: string) => readFile(path, 'utf8');
const transport = createHttpTransport(await transportOptions(config, { clock: systemClock, readFile: read }));
const stop = new AbortController();
process.once('SIGINT', () => stop.abort(new Error('interrupted')));
await runCopyController(
  componentContext({
    client: createClient(transport),
    clock: systemClock,
    random: systemRandom,
    log: { ...silentLog, warn: console.warn, error: console.error },
    signal: stop.signal,
  }),
);
await transport.close();
