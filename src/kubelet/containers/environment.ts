/**
 * The environment of a container: Services of its namespace, then `envFrom`, then `env` in order, each value expanded by what
 * stands before it. Throws in upstream's words when something it needs is missing.
 */
import type { Container, EnvFromSource, EnvVar, Pod, Service } from '../../api/gen/core-v1.ts';
import { quote } from '../../apimachinery/go-text.ts';
import { hostPort } from '../../base/host-port.ts';
import { fieldValue, type PodSituation, resourceValue } from '../pods/downward.ts';
import type { EnvironmentVariable } from '../runtime/runtime.ts';
import type { ReferencedObjects } from '../volumes/referenced-objects.ts';
import { expand } from './expansion.ts';

export interface EnvironmentSources {
  readonly objects: Pick<ReferencedObjects, 'configMap' | 'secret'>;
  /** All Services that the node knows. */
  readonly services: readonly Service[];
  readonly situation: PodSituation;
}

export async function containerEnvironment(
  pod: Pod,
  container: Container,
  sources: EnvironmentSources,
): Promise<EnvironmentVariable[]> {
  const services = serviceVariables(pod, sources.services);
  const values = new Map<string, string>();
  for (const from of container.envFrom ?? []) await addAll(values, from, pod, sources);
  for (const variable of container.env ?? []) {
    const value = await variableValue(variable, pod, container, { ...sources, values, serviceValues: services });
    if (value === undefined) continue;
    // What is declared hides a Service's variable of the same name.
    values.set(variable.name, value);
  }
  for (const [name, value] of services) if (!values.has(name)) values.set(name, value);
  return [...values].map(([name, value]) => ({ name, value }));
}

interface ValueContext extends EnvironmentSources {
  readonly values: ReadonlyMap<string, string>;
  readonly serviceValues: ReadonlyMap<string, string>;
}

async function variableValue(
  variable: EnvVar,
  pod: Pod,
  container: Container,
  context: ValueContext,
): Promise<string | undefined> {
  const { namespace = '', uid = '' } = pod.metadata;
  const source = variable.valueFrom;
  if (!source)
    return expand(variable.value ?? '', (name) => context.values.get(name) ?? context.serviceValues.get(name));
  if (source.fieldRef) return fieldValue(pod, source.fieldRef.fieldPath, context.situation);
  if (source.resourceFieldRef) {
    const { containerName } = source.resourceFieldRef;
    const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
    const target = containerName ? all.find(({ name }) => name === containerName) : container;
    if (!target) throw new Error(`container ${containerName} not found`);
    return resourceValue(target, source.resourceFieldRef, context.situation);
  }
  if (source.configMapKeyRef) {
    const { name = '', key, optional } = source.configMapKeyRef;
    const configMap = await context.objects.configMap(namespace, name, uid);
    if (!configMap && !optional) throw new Error(`configmap ${quote(name)} not found`);
    const value = configMap?.data?.[key];
    if (value === undefined && !optional) throw new Error(`couldn't find key ${key} in ConfigMap ${namespace}/${name}`);
    return value;
  }
  if (source.secretKeyRef) {
    const { name = '', key, optional } = source.secretKeyRef;
    const secret = await context.objects.secret(namespace, name, uid);
    if (!secret && !optional) throw new Error(`secret ${quote(name)} not found`);
    const value = secret?.data?.[key];
    if (value === undefined && !optional) throw new Error(`couldn't find key ${key} in Secret ${namespace}/${name}`);
    return value === undefined ? undefined : Buffer.from(value, 'base64').toString();
  }
  return '';
}

async function addAll(
  values: Map<string, string>,
  from: EnvFromSource,
  pod: Pod,
  sources: EnvironmentSources,
): Promise<void> {
  const { namespace = '', uid = '' } = pod.metadata;
  const prefix = from.prefix ?? '';
  if (from.configMapRef) {
    const { name = '', optional } = from.configMapRef;
    const configMap = await sources.objects.configMap(namespace, name, uid);
    if (!configMap && !optional) throw new Error(`configmap ${quote(name)} not found`);
    for (const [key, value] of Object.entries(configMap?.data ?? {})) values.set(prefix + key, value);
  }
  if (from.secretRef) {
    const { name = '', optional } = from.secretRef;
    const secret = await sources.objects.secret(namespace, name, uid);
    if (!secret && !optional) throw new Error(`secret ${quote(name)} not found`);
    for (const [key, value] of Object.entries(secret?.data ?? {}))
      values.set(prefix + key, Buffer.from(value, 'base64').toString());
  }
}

/** Services of the Pod's namespace when it asks for links, and those of the API server itself always. */
export function serviceVariables(pod: Pod, services: readonly Service[]): Map<string, string> {
  const variables = new Map<string, string>();
  const links = pod.spec.enableServiceLinks ?? true;
  const wanted = services
    .filter(({ metadata, spec }) => {
      if (!spec?.clusterIP || spec.clusterIP === 'None') return false;
      if (metadata.namespace === 'default' && metadata.name === 'kubernetes') return true;
      return links && metadata.namespace === pod.metadata.namespace;
    })
    // The API server's own comes first, so that a Service of the same name in the namespace prevails.
    .sort(
      (a, b) =>
        Number(a.metadata.namespace === pod.metadata.namespace) -
        Number(b.metadata.namespace === pod.metadata.namespace),
    );
  for (const service of wanted) addService(variables, service);
  return variables;
}

function addService(variables: Map<string, string>, { metadata, spec }: Service): void {
  const ports = spec?.ports ?? [];
  const ip = spec?.clusterIP ?? '';
  const prefix = (metadata.name ?? '').toUpperCase().replaceAll('-', '_');
  variables.set(`${prefix}_SERVICE_HOST`, ip);
  variables.set(`${prefix}_SERVICE_PORT`, String(ports[0]?.port ?? ''));
  for (const { name, port } of ports) {
    if (name) variables.set(`${prefix}_SERVICE_PORT_${name.toUpperCase().replaceAll('-', '_')}`, String(port));
  }
  for (const [i, { port, protocol = 'TCP' }] of ports.entries()) {
    const scheme = protocol.toLowerCase();
    const url = `${scheme}://${hostPort({ host: ip, port })}`;
    if (i === 0) variables.set(`${prefix}_PORT`, url);
    const portPrefix = `${prefix}_PORT_${port}_${protocol}`;
    variables.set(portPrefix, url);
    variables.set(`${portPrefix}_PROTO`, scheme);
    variables.set(`${portPrefix}_PORT`, String(port));
    variables.set(`${portPrefix}_ADDR`, ip);
  }
}
