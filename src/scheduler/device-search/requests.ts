/**
 * What a claim asks for, request by request, as the search for devices needs it: how many, of which class, by which selectors, and for
 * alternatives in what order. What makes a claim impossible wherever it is tried is thrown, in upstream's words.
 */
import type {
  DeviceAllocationMode,
  DeviceClass,
  DeviceRequest,
  DeviceSelector,
  DeviceToleration,
  ResourceClaim,
} from '../../api/gen/resource-v1.ts';

/** A request, or one alternative of it. */
export interface WantedDevices {
  /** Of the request alone; with `alternative` the name in results is `request/alternative`. */
  readonly request: string;
  readonly alternative: string | undefined;
  readonly deviceClass: DeviceClass;
  readonly selectors: readonly DeviceSelector[];
  readonly mode: DeviceAllocationMode;
  readonly count: number;
  readonly adminAccess: boolean | undefined;
  readonly tolerations: readonly DeviceToleration[] | undefined;
  readonly capacity: Readonly<Record<string, string>> | undefined;
}

export interface ClaimRequest {
  /** One, or the alternatives in the order of preference. */
  readonly choices: readonly WantedDevices[];
}

export const resultName = ({ alternative, request }: WantedDevices): string =>
  alternative === undefined ? request : `${request}/${alternative}`;

export const claimName = ({ metadata }: ResourceClaim): string => `${metadata.namespace}/${metadata.name}`;

export interface RequestReading {
  classOf(name: string): DeviceClass | undefined;
  /** Told of each in its turn, before what is wrong with the next is found. */
  onEach(wanted: WantedDevices): void;
}

export function requestsOf(claim: ResourceClaim, { classOf, onEach }: RequestReading): readonly ClaimRequest[] {
  return (claim.spec.devices?.requests ?? []).map((request) => ({
    choices: rowsOf(request).map(({ row, alternative }) => {
      const where = `claim ${claimName(claim)}, request ${alternative ?? request.name}`;
      for (const [index, { cel }] of (row.selectors ?? []).entries())
        if (!cel) throw new Error(`${where}, selector #${index}: CEL expression empty (unsupported selector type?)`);
      const deviceClass = classOf(row.deviceClassName);
      if (!deviceClass) {
        const problem = `deviceclass.resource.k8s.io "${row.deviceClassName}" not found`;
        throw new Error(`${where}: could not retrieve device class ${row.deviceClassName}: ${problem}`);
      }
      const mode = row.allocationMode ?? 'ExactCount';
      if (mode !== 'ExactCount' && mode !== 'All') throw new Error(`${where}: unsupported count mode ${mode}`);
      const wanted: WantedDevices = {
        request: request.name,
        alternative,
        deviceClass,
        selectors: row.selectors ?? [],
        mode,
        count: row.count ?? 1,
        adminAccess: row.adminAccess,
        tolerations: row.tolerations,
        capacity: row.capacity?.requests,
      };
      onEach(wanted);
      return wanted;
    }),
  }));
}

/** Alternatives cannot ask for the access of an administrator. */
type Row = NonNullable<DeviceRequest['exactly']>;

function rowsOf({
  exactly,
  firstAvailable = [],
}: DeviceRequest): { readonly row: Row; readonly alternative?: string }[] {
  if (exactly) return [{ row: exactly }];
  return firstAvailable.map(({ name, ...row }) => ({ row, alternative: name }));
}
