/** IP addresses and ranges of them: `ip("10.0.0.1")`, `cidr("10.0.0.0/8").containsIP(...)`. */
import {
  bitsOf,
  type Cidr,
  cidrContains,
  cidrIncludes,
  formatIp,
  type IpAddress,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isLoopback,
  leadingBits,
} from '../../addresses.ts';
import {
  boolType,
  CelError,
  CelOpaque,
  type CelResult,
  type CelType,
  costs,
  type FunctionDeclaration,
  fixed,
  intType,
  type Library,
  type Overload,
  opaqueType,
  plus,
  type SizeRange,
  scaled,
  sizeForCost,
  stringType,
} from '../index.ts';
import { unitCost, walkCost } from './call-costs.ts';
import { strictCidr, strictIp } from './go-address.ts';

const atUnitCost = { equality: { atRunTime: 1, estimate: () => fixed(1) } };
const ipType = opaqueType('net.IP', atUnitCost);
const cidrType = opaqueType('net.CIDR', atUnitCost);

class IpValue extends CelOpaque {
  readonly type = ipType;
  readonly address: IpAddress;
  constructor(address: IpAddress) {
    super();
    this.address = address;
  }
  equals(other: CelOpaque): boolean {
    return (
      other instanceof IpValue &&
      other.address.family === this.address.family &&
      other.address.value === this.address.value
    );
  }
  override sizeForCost(): number {
    return bitsOf(this.address.family) / 8;
  }
}

/** The address before the slash keeps its host bits: `10.1.2.3/8` is not `10.0.0.0/8`. */
class CidrValue extends CelOpaque {
  readonly type = cidrType;
  readonly cidr: Cidr;
  constructor(cidr: Cidr) {
    super();
    this.cidr = cidr;
  }
  equals(other: CelOpaque): boolean {
    return other instanceof CidrValue && textOf(other.cidr) === textOf(this.cidr);
  }
  override sizeForCost(): number {
    return Math.ceil(this.cidr.prefixLength / 8);
  }
}

export const ips: Library = {
  types: [ipType],
  functions: [
    {
      name: 'ip',
      overloads: [{ id: 'string_to_ip', parameters: [stringType], result: ipType, call: toIp }],
      ...walkCost(),
    },
    {
      name: 'isIP',
      overloads: [{ id: 'is_ip', parameters: [stringType], result: boolType, call: succeeds(toIp) }],
      ...walkCost(),
    },
    {
      name: 'ip.isCanonical',
      overloads: [{ id: 'ip_is_canonical', parameters: [stringType], result: boolType, call: isCanonical }],
      ...walkCost(2),
    },
    ofIp('family', 'ip_family', intType, ({ family }) => BigInt(family)),
    ofIp('isUnspecified', 'ip_is_unspecified', boolType, ({ value }) => value === 0n),
    ofIp('isLoopback', 'ip_is_loopback', boolType, isLoopback),
    ofIp('isLinkLocalMulticast', 'ip_is_link_local_multicast', boolType, isLinkLocalMulticast),
    ofIp('isLinkLocalUnicast', 'ip_is_link_local_unicast', boolType, isLinkLocalUnicast),
    ofIp('isGlobalUnicast', 'ip_is_global_unicast', boolType, isGlobalUnicast),
    {
      name: 'string',
      overloads: [
        { id: 'ip_to_string', parameters: [ipType], result: stringType, call: (ip: IpValue) => formatIp(ip.address) },
      ],
    },
  ],
};

export const cidrs: Library = {
  types: [cidrType],
  functions: [
    {
      name: 'cidr',
      overloads: [{ id: 'string_to_cidr', parameters: [stringType], result: cidrType, call: toCidr }],
      ...walkCost(),
    },
    {
      name: 'isCIDR',
      overloads: [{ id: 'is_cidr', parameters: [stringType], result: boolType, call: succeeds(toCidr) }],
      ...walkCost(),
    },
    {
      name: 'containsIP',
      overloads: [
        ...containment('cidr_contains_ip_string', stringType, (cidr, text: string) => {
          const ip = toIp(text);
          return ip instanceof IpValue ? cidrContains(cidr, ip.address) : ip;
        }),
        ...containment('cidr_contains_ip_ip', ipType, (cidr, ip: IpValue) => cidrContains(cidr, ip.address)),
      ],
    },
    {
      name: 'containsCIDR',
      overloads: [
        ...containment('cidr_contains_cidr_string', stringType, (cidr, text: string) => {
          const other = toCidr(text);
          return other instanceof CidrValue ? cidrIncludes(cidr, other.cidr) : other;
        }),
        ...containment('cidr_contains_cidr', cidrType, (cidr, other: CidrValue) => cidrIncludes(cidr, other.cidr)),
      ],
    },
    ofCidr('ip', 'cidr_ip', ipType, (cidr) => new IpValue(cidr.address)),
    ofCidr('prefixLength', 'cidr_prefix_length', intType, (cidr) => BigInt(cidr.prefixLength)),
    ofCidr('masked', 'cidr_masked', cidrType, (cidr) => {
      return new CidrValue({ ...cidr, address: { ...cidr.address, value: cidr.base } });
    }),
    {
      name: 'string',
      overloads: [
        {
          id: 'cidr_to_string',
          parameters: [cidrType],
          result: stringType,
          call: (value: CidrValue) => textOf(value.cidr),
        },
      ],
    },
  ],
};

const textOf = (cidr: Cidr) => `${formatIp(cidr.address)}/${cidr.prefixLength}`;

function toIp(text: string): IpValue | CelError {
  try {
    return new IpValue(strictIp(text));
  } catch (error) {
    return new CelError((error as Error).message);
  }
}

function toCidr(text: string): CidrValue | CelError {
  try {
    return new CidrValue(strictCidr(text));
  } catch (error) {
    return new CelError(`network address parse error during conversion from string: ${(error as Error).message}`);
  }
}

function succeeds(convert: (text: string) => CelResult): (text: string) => boolean {
  return (text) => !(convert(text) instanceof CelError);
}

function isCanonical(text: string): CelResult {
  const ip = toIp(text);
  return ip instanceof CelError ? ip : formatIp(ip.address) === text;
}

function ofIp(name: string, id: string, result: CelType, read: (ip: IpAddress) => CelResult): FunctionDeclaration {
  const call = (value: IpValue) => read(value.address);
  return { name, overloads: [{ id, member: true, parameters: [ipType], result, call }], ...unitCost };
}

function ofCidr(name: string, id: string, result: CelType, read: (cidr: Cidr) => CelResult): FunctionDeclaration {
  const call = (value: CidrValue) => read(value.cidr);
  // By overload: `ip` is a function of texts, too.
  return { name, overloads: [{ id, member: true, parameters: [cidrType], result, call, ...unitCost }] };
}

/** Sizes of an address in bytes. */
const addressSize: SizeRange = { min: 4, max: 16 };

/** Comparing costs two walks over the bytes of the range's prefix, a range's own third one, and a text its reading. */
function containment<T extends string | IpValue | CidrValue>(
  id: string,
  parameter: CelType,
  call: (cidr: Cidr, other: T) => CelResult,
): Overload[] {
  const ofRange = id.startsWith('cidr_contains_cidr');
  const reads = parameter === stringType;
  const walk = (size: number) => Math.ceil(size * costs.traversal);
  return [
    {
      id,
      member: true,
      parameters: [cidrType, parameter],
      result: boolType,
      call: (value: CidrValue, other: T) => call(value.cidr, other),
      cost: ([cidr, other]) => {
        const size = sizeForCost(cidr!);
        const compared = walk(2 * size) + (ofRange ? walk(size) + 1 : 0);
        return compared + (reads ? walk(sizeForCost(other!)) : 0);
      },
      estimate: ({ args, sizeOf }) => {
        const both = scaled(plus(addressSize, addressSize), costs.traversal);
        const compared = ofRange ? plus(plus(both, scaled(addressSize, costs.traversal)), fixed(1)) : both;
        return { cost: reads ? plus(compared, scaled(sizeOf(args[0]!), costs.traversal)) : compared };
      },
    },
  ];
}

/** 224.0.0.0/4; ff00::/8. */
function isMulticast(ip: IpAddress): boolean {
  return ip.family === 4 ? leadingBits(ip, 4) === 0xen : leadingBits(ip, 8) === 0xffn;
}

function isGlobalUnicast(ip: IpAddress): boolean {
  const broadcast = ip.family === 4 && ip.value === 0xffffffffn;
  return ip.value !== 0n && !broadcast && !isLoopback(ip) && !isMulticast(ip) && !isLinkLocalUnicast(ip);
}
