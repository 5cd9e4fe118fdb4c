/**
 * What a container is given so that it finds its devices: the answers of all plugins whose devices it holds, joined. Where two of them
 * want different things for one name or path, the first by the resource's name prevails.
 */
import type { Device, EnvironmentVariable, Mount } from '../runtime/runtime.ts';
import type { ContainerAllocateResponse } from './gen/device-plugin-v1beta1.ts';

export interface ContainerDevices {
  readonly environment: readonly EnvironmentVariable[];
  readonly mounts: readonly Mount[];
  readonly devices: readonly Device[];
  readonly annotations: Readonly<Record<string, string>>;
  /** Names of devices of the Container Device Interface: `vendor.com/class=name`. */
  readonly cdiDevices: readonly string[];
}

export function joinResponses(responses: readonly ContainerAllocateResponse[]): ContainerDevices {
  return {
    environment: firstBy(
      responses.flatMap(({ envs }) => Object.entries(envs).map(([name, value]) => ({ name, value }))),
      ({ name }) => name,
    ),
    mounts: firstBy(
      responses.flatMap(({ mounts }) => mounts),
      ({ containerPath }) => containerPath,
    ).map(({ containerPath, hostPath, readOnly }) => ({ containerPath, hostPath, readonly: readOnly })),
    devices: firstBy(
      responses.flatMap(({ devices }) => devices),
      ({ containerPath }) => containerPath,
    ),
    annotations: Object.fromEntries(responses.toReversed().flatMap(({ annotations }) => Object.entries(annotations))),
    cdiDevices: [...new Set(responses.flatMap(({ cdiDevices }) => cdiDevices.map(({ name }) => name)))],
  };
}

function firstBy<T>(list: readonly T[], key: (item: T) => string): readonly T[] {
  return [...Map.groupBy(list, key).values()].map(([first]) => first!);
}
