/** Ports of a Pod's containers that are defined twice, or so that nobody can tell which is meant. */
import type { FieldPath } from '../../../apimachinery/field-error.ts';
import { quote } from '../../../apimachinery/go-text.ts';
import type { ContainerPort, PodSpec } from '../../gen/core-v1.ts';
import { forEachContainer } from './security-validation.ts';

interface PlacedPort {
  readonly at: FieldPath;
  readonly port: ContainerPort;
}

/** First what numbers say, then what names say. */
export function portWarnings(specAt: FieldPath, spec: PodSpec): string[] {
  const ports: PlacedPort[] = [];
  forEachContainer(specAt, spec, (container, at) => {
    for (const [index, port] of (container.ports ?? []).entries()) {
      ports.push({ at: at.child('ports').index(index), port });
    }
  });
  return ports.length === 0 ? [] : [...numberWarnings(ports), ...nameWarnings(ports)];
}

function numberWarnings(ports: readonly PlacedPort[]): string[] {
  const byNumber = new Map<string, PlacedPort[]>();
  return ports.flatMap((placed) => {
    const { at, port } = placed;
    const key = `${port.containerPort}/${port.protocol}`;
    const others = byNumber.get(key) ?? [];
    byNumber.set(key, [...others, placed]);
    return [
      ...(port.hostIP && !port.hostPort ? [`${at}: hostIP set without hostPort: ${portText(port)}`] : []),
      ...others.flatMap((other) => {
        const relation = relationOf(port, other.port);
        return relation ? [`${at}: ${relation} port definition with ${other.at}`] : [];
      }),
    ];
  });
}

/** Of two ports with the same number and protocol. */
function relationOf(a: ContainerPort, b: ContainerPort): string | undefined {
  const [hostPort, otherPort] = [a.hostPort ?? 0, b.hostPort ?? 0];
  const [hostIP, otherIP] = [a.hostIP ?? '', b.hostIP ?? ''];
  if (hostIP === otherIP && hostPort === otherPort) return 'duplicate';
  if (hostPort === 0 || otherPort === 0) return 'overlapping';
  // One on every address, the other on one of them.
  return hostPort === otherPort && (hostIP === '') !== (otherIP === '') ? 'dangerously ambiguous' : undefined;
}

function nameWarnings(ports: readonly PlacedPort[]): string[] {
  const first = new Map<string, FieldPath>();
  return ports.flatMap(({ at, port: { name } }) => {
    if (!name) return [];
    const other = first.get(name);
    if (!other) {
      first.set(name, at);
      return [];
    }
    return [
      `${at}: duplicate port name ${quote(name)} with ${other}, services and probes that select ports by name will use ${other}`,
    ];
  });
}

/** A port as upstream prints its structures. */
function portText({ name = '', hostPort = 0, containerPort, protocol = 'TCP', hostIP = '' }: ContainerPort): string {
  return `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`;
}
