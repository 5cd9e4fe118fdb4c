/**
 * Whom a certificate names: the distinguished name, of which Kubernetes reads the common name (the user) and the organizations
 * (the groups), and the alternative names of servers.
 */
import { isIPv4 } from 'node:net';
import {
  children,
  contextPrimitive,
  DerError,
  type DerValue,
  objectIdentifier,
  readAll,
  readObjectIdentifier,
  readText,
  sequence,
  setOf,
  Tag,
  utf8String,
} from './der.ts';

export interface Subject {
  readonly commonName: string;
  readonly organizations?: readonly string[] | undefined;
}

export interface AlternativeNames {
  readonly dnsNames?: readonly string[] | undefined;
  readonly ipAddresses?: readonly string[] | undefined;
  readonly emailAddresses?: readonly string[] | undefined;
  readonly uris?: readonly string[] | undefined;
}

/** A name as it was read: nothing is left out. */
export interface ReadSubject extends Subject {
  readonly organizations: readonly string[];
}

export interface ReadAlternativeNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly uris: readonly string[];
}

const commonNameOid = '2.5.4.3';
const organizationOid = '2.5.4.10';

/** One relative name for all organizations and one for the common name, as Go orders them. */
export function encodeSubject({ commonName, organizations = [] }: Subject): Buffer {
  const attribute = (oid: string, text: string) => sequence(objectIdentifier(oid), utf8String(text));
  const relativeNames: Buffer[] = [];
  if (organizations.length > 0)
    relativeNames.push(setOf(organizations.map((name) => attribute(organizationOid, name))));
  if (commonName !== '') relativeNames.push(setOf([attribute(commonNameOid, commonName)]));
  return sequence(...relativeNames);
}

/** Of several common names the last one counts, as in Go. */
export function readSubject(name: DerValue | undefined): ReadSubject {
  let commonName = '';
  const organizations: string[] = [];
  for (const relativeName of children(name)) {
    for (const attribute of children(relativeName, Tag.set)) {
      const [type, value] = children(attribute);
      if (!value) throw new DerError('an attribute of a name has no value');
      const oid = readObjectIdentifier(type);
      if (oid === commonNameOid) commonName = readText(value);
      else if (oid === organizationOid) organizations.push(readText(value));
    }
  }
  return { commonName, organizations };
}

/** GeneralNames; undefined if there are none. */
export function encodeAlternativeNames(names: AlternativeNames): Buffer | undefined {
  const { dnsNames = [], ipAddresses = [], emailAddresses = [], uris = [] } = names;
  const general = [
    ...dnsNames.map((name) => contextPrimitive(2, Buffer.from(name))),
    ...emailAddresses.map((address) => contextPrimitive(1, Buffer.from(address))),
    ...ipAddresses.map((address) => contextPrimitive(7, ipBytes(address))),
    ...uris.map((uri) => contextPrimitive(6, Buffer.from(uri))),
  ];
  return general.length > 0 ? sequence(...general) : undefined;
}

export function readAlternativeNames(generalNames: Buffer): ReadAlternativeNames {
  const dnsNames: string[] = [];
  const ipAddresses: string[] = [];
  const emailAddresses: string[] = [];
  const uris: string[] = [];
  const [outer] = readAll(generalNames);
  for (const { tag, content } of children(outer)) {
    if (tag === 0x82) dnsNames.push(content.toString());
    else if (tag === 0x81) emailAddresses.push(content.toString());
    else if (tag === 0x86) uris.push(content.toString());
    else if (tag === 0x87) ipAddresses.push(ipText(content));
  }
  return { dnsNames, ipAddresses, emailAddresses, uris };
}

/** Throws `TypeError`. (`isIPv6` of Node.js would do for the check, if its expression did not take 3 ms to compile.) */
function ipBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const tail = /^(.*:)((\d+)\.(\d+)\.(\d+)\.(\d+))$/.exec(address);
  const pair = (high: string | undefined, low: string | undefined) => (Number(high) * 256 + Number(low)).toString(16);
  const pure = tail ? `${tail[1]}${pair(tail[3], tail[4])}:${pair(tail[5], tail[6])}` : address;
  const [left = '', right, ...rest] = pure.split('::');
  const groups = (text: string | undefined) => (text ? text.split(':') : []);
  const missing = Math.max(0, 8 - groups(left).length - groups(right).length);
  const all =
    right === undefined ? groups(left) : [...groups(left), ...Array<string>(missing).fill('0'), ...groups(right)];
  const isWhole = all.length === 8 && rest.length === 0 && (right === undefined || missing > 0);
  if (!isWhole || !all.every((group) => /^[\da-f]{1,4}$/i.test(group)) || (tail && !isIPv4(tail[2] ?? '')))
    throw new TypeError(`not an IP address: ${address}`);
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

/** The canonical text of RFC 5952, which Go prints too. */
function ipText(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.length !== 16) throw new DerError('an IP address is neither 4 nor 16 bytes long');
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(i * 2).toString(16));
  const runs = [
    ...groups
      .map((group) => (group === '0' ? '0' : '-'))
      .join('')
      .matchAll(/00+/g),
  ];
  const longest = runs.reduce<RegExpExecArray | undefined>(
    (best, run) => (run[0].length > (best?.[0].length ?? 0) ? run : best),
    undefined,
  );
  if (!longest) return groups.join(':');
  return `${groups.slice(0, longest.index).join(':')}::${groups.slice(longest.index + longest[0].length).join(':')}`;
}
