/** How a component of its own process reaches the API server, and who it is there: a kubeconfig, or the Pod it runs in. */
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf } from '../../../apimachinery/status.ts';
import type { Clock } from '../../../base/clock.ts';
import { hostPort } from '../../../base/host-port.ts';
import type { Client } from '../../../client/client.ts';
import { createHttpTransport, type HttpTransport, type HttpTransportOptions } from '../../../client/http-transport.ts';
import { fileToken, parseKubeconfig, transportOptions } from '../../../client/kubeconfig.ts';
import { RequestStatistics } from '../../../client/request-statistics.ts';
import { createClient } from '../../../client/typed-client.ts';
import { followRenewals } from '../../certificates/certificate-renewal.ts';
import { CommandError } from '../../command-error.ts';
import { versions } from '../../versions.ts';
import type { ComponentEnvironment } from './component-definition.ts';

export interface ConnectionFlags {
  readonly kubeconfig: string | undefined;
  /** `--master`: another address for the server. */
  readonly master?: string | undefined;
}

export interface Connection extends AsyncDisposable {
  readonly client: Client;
  readonly options: HttpTransportOptions;
  /** Shows another certificate from the next connection on. */
  showCertificate(certificate: { readonly certificatePem: string; readonly keyPem: string }): void;
}

const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** How often upstream's clients look at their certificate's files. */
const lookEveryMs = 300_000;

/** What lies in the files that say who one is may change: new connections show the newer. */
export async function connect(
  name: string,
  flags: ConnectionFlags,
  environment: ComponentEnvironment,
): Promise<Connection> {
  const base = await optionsFor(flags, environment);
  const options = {
    statistics: new RequestStatistics(),
    ...base,
    ...(flags.master ? { server: flags.master } : {}),
    userAgent: `${name}/${versions.kubernetes}`,
  };
  const transport = createHttpTransport(options);
  const closing = new AbortController();
  const { clock, log } = environment;
  const current = async () => (await optionsFor(flags, environment)).tls ?? {};
  const following = followRenewals(current, (tls) => transport.replaceTls(tls), {
    clock,
    log,
    signal: closing.signal,
    everyMs: lookEveryMs,
  });
  return {
    ...connectionOver(transport, options),
    async [Symbol.asyncDispose]() {
      closing.abort();
      await following;
      await transport.close();
    },
  };
}

export function connectionOf(options: HttpTransportOptions): Connection {
  return connectionOver(createHttpTransport(options), options);
}

function connectionOver(transport: HttpTransport, options: HttpTransportOptions): Connection {
  return {
    client: createClient(transport),
    options,
    showCertificate: ({ certificatePem: cert, keyPem: key }) => transport.replaceTls({ ...options.tls, cert, key }),
    [Symbol.asyncDispose]: () => transport.close(),
  };
}

/** The server that a kubeconfig names, and how to prove who one is there. Throws `CommandError`, naming the flag. */
export async function kubeconfigOptions(
  path: string,
  { flag, clock }: { readonly flag: string; readonly clock: Clock },
): Promise<HttpTransportOptions> {
  try {
    const config = parseKubeconfig(readFileSync(path, 'utf8'), dirname(path));
    return await transportOptions(config, { clock, readFile: (file) => readFile(file, 'utf8') });
  } catch (error) {
    throw new CommandError(`${flag} ${path}: ${messageOf(error)}`, 'Give a kubeconfig of the server.');
  }
}

async function optionsFor(flags: ConnectionFlags, environment: ComponentEnvironment): Promise<HttpTransportOptions> {
  const { clock, machine } = environment;
  const reading = { clock, readFile: (path: string) => readFile(path, 'utf8') };
  const { kubeconfig } = flags;
  if (kubeconfig) return kubeconfigOptions(kubeconfig, { flag: '--kubeconfig', clock });
  const host = machine.environment.KUBERNETES_SERVICE_HOST;
  const port = machine.environment.KUBERNETES_SERVICE_PORT;
  if (host && port && existsSync(`${serviceAccountFolder}/token`)) {
    return {
      server: `https://${hostPort({ host, port })}`,
      clock,
      tls: { ca: readFileSync(`${serviceAccountFolder}/ca.crt`, 'utf8') },
      token: fileToken(`${serviceAccountFolder}/token`, reading),
    };
  }
  if (flags.master) return { server: flags.master, clock };
  throw new CommandError(
    'invalid configuration: no configuration has been provided.',
    'Say how to reach the API server with --kubeconfig.',
  );
}
