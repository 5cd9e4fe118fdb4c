/**
 * The extensions of certificates and requests that Kubernetes uses. Usages go by the names of the CertificateSigningRequest
 * API (`digital signature`, `server auth`, ...), which cover both key usage and extended key usage.
 */
import { createHash } from 'node:crypto';
import {
  bitString,
  boolean,
  children,
  contextPrimitive,
  type DerValue,
  expectTag,
  integer,
  objectIdentifier,
  octetString,
  readAll,
  readBitString,
  readDer,
  readObjectIdentifier,
  sequence,
  setOf,
  Tag,
} from './der.ts';
import {
  type AlternativeNames,
  encodeAlternativeNames,
  type ReadAlternativeNames,
  readAlternativeNames,
} from './names.ts';

/** In the order of the key usage bits. */
const keyUsages = [
  'digital signature',
  'content commitment',
  'key encipherment',
  'data encipherment',
  'key agreement',
  'cert sign',
  'crl sign',
  'encipher only',
  'decipher only',
] as const;

const extendedKeyUsages = {
  any: '2.5.29.37.0',
  'server auth': '1.3.6.1.5.5.7.3.1',
  'client auth': '1.3.6.1.5.5.7.3.2',
  'code signing': '1.3.6.1.5.5.7.3.3',
  'email protection': '1.3.6.1.5.5.7.3.4',
  's/mime': '1.3.6.1.5.5.7.3.4',
  'ipsec end system': '1.3.6.1.5.5.7.3.5',
  'ipsec tunnel': '1.3.6.1.5.5.7.3.6',
  'ipsec user': '1.3.6.1.5.5.7.3.7',
  timestamping: '1.3.6.1.5.5.7.3.8',
  'ocsp signing': '1.3.6.1.5.5.7.3.9',
  'microsoft sgc': '1.3.6.1.4.1.311.10.3.3',
  'netscape sgc': '2.16.840.1.113730.4.1',
} as const;

/** `signing` is an older name of `digital signature`. */
export type Usage = (typeof keyUsages)[number] | keyof typeof extendedKeyUsages | 'signing';

export interface Extensions extends ReadAlternativeNames {
  readonly usages: readonly Usage[];
  readonly isAuthority: boolean;
  /** The name of the certificate's key, by which certificates that it signs refer to it. */
  readonly subjectKeyId: Buffer | undefined;
}

export interface ExtensionContents extends AlternativeNames {
  readonly usages?: readonly Usage[] | undefined;
  /** Present in certificates, absent in requests. */
  readonly authority?: { readonly isAuthority: boolean; readonly maxPathLength?: number | undefined } | undefined;
  readonly subjectKeyId?: Buffer | undefined;
  readonly authorityKeyId?: Buffer | undefined;
}

const oids = {
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  alternativeNames: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
} as const;

/** The SEQUENCE OF Extension; undefined if there is none to write. */
export function encodeExtensions(contents: ExtensionContents): Buffer | undefined {
  const { usages = [], authority, subjectKeyId, authorityKeyId } = contents;
  const extensions: Buffer[] = [];
  const add = (oid: string, critical: boolean, content: Buffer | undefined) => {
    if (!content) return;
    const flags = critical ? [boolean(true)] : [];
    extensions.push(sequence(objectIdentifier(oid), ...flags, octetString(content)));
  };
  add(oids.keyUsage, true, encodeKeyUsage(usages));
  add(oids.extendedKeyUsage, false, encodeExtendedKeyUsage(usages));
  if (authority) {
    const { isAuthority, maxPathLength } = authority;
    const pathLength = maxPathLength === undefined ? [] : [integer(Buffer.from([maxPathLength]))];
    add(oids.basicConstraints, true, isAuthority ? sequence(boolean(true), ...pathLength) : sequence());
  }
  add(oids.subjectKeyIdentifier, false, subjectKeyId && octetString(subjectKeyId));
  add(oids.authorityKeyIdentifier, false, authorityKeyId && sequence(contextPrimitive(0, authorityKeyId)));
  add(oids.alternativeNames, false, encodeAlternativeNames(contents));
  return extensions.length > 0 ? sequence(...extensions) : undefined;
}

/** Extensions that mean nothing here are skipped. */
export function readExtensions(extensions: DerValue | undefined): Extensions {
  let names: ReadAlternativeNames = { dnsNames: [], ipAddresses: [], emailAddresses: [], uris: [] };
  const usages: Usage[] = [];
  let isAuthority = false;
  let subjectKeyId: Buffer | undefined;
  for (const extension of extensions ? children(extensions) : []) {
    const parts = children(extension);
    const content = expectTag(parts.at(-1), Tag.octetString).content;
    const oid = readObjectIdentifier(parts[0]);
    if (oid === oids.alternativeNames) names = readAlternativeNames(content);
    else if (oid === oids.keyUsage) usages.push(...readKeyUsage(readDer(content)));
    else if (oid === oids.extendedKeyUsage) usages.push(...readExtendedKeyUsage(readDer(content)));
    else if (oid === oids.subjectKeyIdentifier) subjectKeyId = expectTag(readDer(content), Tag.octetString).content;
    else if (oid === oids.basicConstraints) {
      const [flag] = children(readDer(content));
      isAuthority = flag?.tag === Tag.boolean && flag.content[0] !== 0;
    }
  }
  return { ...names, usages, isAuthority, subjectKeyId };
}

/** The attribute of a certificate request that asks for extensions; undefined if there is none to ask for. */
export function encodeExtensionRequest(contents: ExtensionContents): Buffer | undefined {
  const extensions = encodeExtensions(contents);
  return extensions && sequence(objectIdentifier(extensionRequestOid), setOf([extensions]));
}

/** What the attributes of a certificate request ask for. */
export function readExtensionRequest(attributes: DerValue | undefined): Extensions {
  for (const attribute of attributes ? readAll(attributes.content) : []) {
    const [type, values] = children(attribute);
    if (readObjectIdentifier(type) === extensionRequestOid) return readExtensions(children(values, Tag.set)[0]);
  }
  return readExtensions(undefined);
}

export function isUsage(name: string): name is Usage {
  return name === 'signing' || name in extendedKeyUsages || (keyUsages as readonly string[]).includes(name);
}

const extensionRequestOid = '1.2.840.113549.1.9.14';

function encodeKeyUsage(usages: readonly Usage[]): Buffer | undefined {
  const bits = usages.map((usage) =>
    (keyUsages as readonly string[]).indexOf(usage === 'signing' ? 'digital signature' : usage),
  );
  const present = bits.filter((bit) => bit >= 0);
  if (present.length === 0) return undefined;
  const highest = Math.max(...present);
  const bytes = Buffer.alloc((highest >> 3) + 1);
  for (const bit of present) bytes[bit >> 3]! |= 0x80 >> (bit & 7);
  return bitString(bytes, 7 - (highest & 7));
}

function readKeyUsage(value: DerValue): Usage[] {
  const bytes = expectTag(value, Tag.bitString).content.subarray(1);
  return keyUsages.filter((_, bit) => ((bytes[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0);
}

function encodeExtendedKeyUsage(usages: readonly Usage[]): Buffer | undefined {
  const known = extendedKeyUsages as Readonly<Record<string, string>>;
  const wanted = new Set(usages.flatMap((usage) => known[usage] ?? []));
  return wanted.size > 0 ? sequence(...[...wanted].map(objectIdentifier)) : undefined;
}

function readExtendedKeyUsage(value: DerValue): Usage[] {
  const names = Object.entries(extendedKeyUsages) as [Usage, string][];
  return children(value).flatMap((purpose) => {
    const oid = readObjectIdentifier(purpose);
    return names.find(([, known]) => known === oid)?.[0] ?? [];
  });
}

/** RFC 5280's first method: SHA-1 over the bits of the key, as a name, not as a protection. */
export function keyIdentifier(publicKey: Buffer): Buffer {
  const [, bits] = children(readDer(publicKey));
  return createHash('sha1').update(readBitString(bits)).digest();
}
