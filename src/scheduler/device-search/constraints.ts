/**
 * What a claim wants of its devices together: all with one value of an attribute, or each with another. A constraint is told of every device
 * that is about to be taken and may object; what it took it gives back in reverse order.
 */
import type { Device, DeviceAttribute, DeviceConstraint } from '../../api/gen/resource-v1.ts';

export interface Constraint {
  /** False: the device is not among what is wanted, and nothing was noted. */
  add(candidate: Candidate): boolean;
  /** The one that was added last. */
  remove(candidate: Candidate): void;
}

export interface Candidate {
  readonly driver: string;
  readonly device: Device;
  /** Of the request, and of the alternative within it. */
  readonly request: string;
  readonly subRequest: string | undefined;
}

/** Undefined for a kind of constraint that is not known. */
export function constraintOf({
  requests = [],
  matchAttribute,
  distinctAttribute,
}: DeviceConstraint): Constraint | undefined {
  const concerns = ({ request, subRequest }: Candidate) =>
    requests.length === 0 || requests.includes(request) || requests.includes(`${request}/${subRequest}`);
  const attribute = matchAttribute ?? distinctAttribute;
  if (attribute === undefined) return undefined;
  const accepts = matchAttribute === undefined ? allDiffer : allEqual;
  const values: string[] = [];
  return {
    add(candidate) {
      if (!concerns(candidate)) return true;
      const value = attributeOf(candidate, attribute);
      if (value === undefined || !accepts(values, value)) return false;
      values.push(value);
      return true;
    },
    remove(candidate) {
      if (concerns(candidate)) values.pop();
    },
  };
}

const allEqual = (values: readonly string[], value: string) => values.length === 0 || values[0] === value;
const allDiffer = (values: readonly string[], value: string) => !values.includes(value);

/** By its qualified name, or by the plain one where the domain is the driver's. Values of different types are different. */
function attributeOf({ device: { attributes = {} }, driver }: Candidate, name: string): string | undefined {
  const plain = name.startsWith(`${driver}/`) ? name.slice(driver.length + 1) : undefined;
  const known = [name, plain].find((one) => one !== undefined && Object.hasOwn(attributes, one));
  return known === undefined ? undefined : scalarText(attributes[known]!);
}

function scalarText({ string, int, bool, version }: DeviceAttribute): string | undefined {
  if (string !== undefined) return `string ${string}`;
  if (int !== undefined) return `int ${int}`;
  if (bool !== undefined) return `bool ${bool}`;
  return version === undefined ? undefined : `version ${version}`;
}
