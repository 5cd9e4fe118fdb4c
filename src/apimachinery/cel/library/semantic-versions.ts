/** Semantic versions: `semver("1.2.3")`, their order and parts. */
import {
  boolType,
  CelError,
  CelOpaque,
  type CelResult,
  type CelType,
  type CelValue,
  type FunctionDeclaration,
  fixed,
  intType,
  type Library,
  type Overload,
  objectType,
  stringType,
} from '../index.ts';
import { unitCost, walkCost } from './call-costs.ts';
import { compareVersions, parseVersion, parseVersionLeniently, type SemanticVersion } from './semantic-version.ts';

const semverType = objectType('kubernetes.Semver', { equality: { atRunTime: 1, estimate: () => fixed(1) } });

class SemverValue extends CelOpaque {
  readonly type = semverType;
  readonly version: SemanticVersion;
  constructor(version: SemanticVersion) {
    super();
    this.version = version;
  }
  equals(other: CelOpaque): boolean {
    return other instanceof SemverValue && compareVersions(this.version, other.version) === 0;
  }
}

export const semanticVersions: Library = {
  types: [semverType],
  functions: [
    {
      name: 'semver',
      overloads: [
        {
          id: 'string_to_semver',
          parameters: [stringType],
          result: semverType,
          call: (text: string) => toSemver(text, false),
        },
        { id: 'string_bool_to_semver', parameters: [stringType, boolType], result: semverType, call: toSemver },
      ],
      ...walkCost(),
    },
    {
      name: 'isSemver',
      overloads: [
        {
          id: 'is_semver_string',
          parameters: [stringType],
          result: boolType,
          call: (text: string) => isSemver(text, false),
        },
        { id: 'is_semver_string_bool', parameters: [stringType, boolType], result: boolType, call: isSemver },
      ],
      ...walkCost(),
    },
    between('isGreaterThan', 'semver_is_greater_than', boolType, (order) => order > 0),
    between('isLessThan', 'semver_is_less_than', boolType, (order) => order < 0),
    between('compareTo', 'semver_compare_to', intType, (order) => BigInt(order)),
    part('major'),
    part('minor'),
    part('patch'),
  ],
};

/** An error value for what is no version. */
export function toSemver(text: string, lenient: boolean): CelResult {
  try {
    return new SemverValue(lenient ? parseVersionLeniently(text) : parseVersion(text));
  } catch (error) {
    return new CelError((error as Error).message);
  }
}

function isSemver(text: string, lenient: boolean): boolean {
  return !(toSemver(text, lenient) instanceof CelError);
}

function between(name: string, id: string, result: CelType, read: (order: number) => CelValue): FunctionDeclaration {
  const overload: Overload = {
    id,
    member: true,
    parameters: [semverType, semverType],
    result,
    call: (left: SemverValue, right: SemverValue) => read(compareVersions(left.version, right.version)),
  };
  return { name, overloads: [overload], ...unitCost };
}

/** Numbers above 2^63 wrap around, as Go converts them. */
function part(name: 'major' | 'minor' | 'patch'): FunctionDeclaration {
  const overload: Overload = {
    id: `semver_${name}`,
    member: true,
    parameters: [semverType],
    result: intType,
    call: (value: SemverValue) => BigInt.asIntN(64, value.version[name]),
  };
  return { name, overloads: [overload], ...unitCost };
}
