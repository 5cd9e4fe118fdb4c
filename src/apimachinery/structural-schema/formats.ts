/**
 * The formats of texts that schemas may ask for; all others are ignored, as upstream ignores them. What each accepts is what
 * upstream's validators accept, which is now and then more or less than the standard of that name. Every check is linear in the text.
 */
import { parseCidr, parseIp } from '../addresses.ts';
import { isRequestUri } from '../go-url.ts';
import { dns1123Label, dns1123Subdomain } from '../names.ts';
import { parseDuration } from '../time.ts';
import { isEmail } from './email.ts';

export type FormatCheck = (text: string) => boolean;

/** Hyphens in a format's name do not count: `date-time` is `datetime`. */
export function formatCheck(format: string): FormatCheck | undefined {
  return checks.get(format.replaceAll('-', ''));
}

const numberFormats: ReadonlyMap<string, readonly string[]> = new Map([
  ['integer', ['int32', 'int64']],
  ['number', ['float', 'double']],
]);

/** Whether a format means anything for a type; an empty type is as a text. */
export function isKnownFormat(format: string, type: string): boolean {
  if (type === '' || type === 'string') return formatCheck(format) !== undefined;
  return numberFormats.get(type)?.includes(format) ?? false;
}

const creditCard =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$/;
const colour = '\\s*(?:0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*';
const rgbColour = new RegExp(`^rgb\\(${colour},${colour},${colour}\\)$`);

const checks: ReadonlyMap<string, FormatCheck> = new Map<string, FormatCheck>([
  ['bsonobjectid', matches(/^[0-9a-fA-F]{24}$/)],
  ['uri', isRequestUri],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', (text) => text.includes('.') && parseIp(text) !== undefined],
  ['ipv6', isIpv6],
  ['cidr', (text) => parseCidr(text) !== undefined],
  ['mac', isMac],
  ['uuid', matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i)],
  ['uuid3', matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i)],
  ['uuid4', matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i)],
  ['uuid5', matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i)],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCreditCard],
  ['ssn', (text) => text.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text)],
  ['hexcolor', matches(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  ['rgbcolor', matches(rgbColour)],
  ['byte', isBase64],
  ['password', () => true],
  ['date', isDate],
  ['duration', isDuration],
  ['datetime', isDateTime],
  ['k8sshortname', (text) => dns1123Label(text).length === 0],
  ['k8slongname', (text) => dns1123Subdomain(text).length === 0],
]);

function matches(pattern: RegExp): FormatCheck {
  return (text) => pattern.test(text);
}

const hostLetter = '[a-zA-Z0-9\\p{S}\\p{L}]';
const singleLabel = new RegExp(`^${hostLetter}-?${hostLetter}{0,62}$`, 'u');
const label = new RegExp(`^${hostLetter}(?:[-a-zA-Z0-9\\p{S}\\p{L}]{0,61}${hostLetter})?$`, 'u');
const topLevel = /^[a-zA-Z\p{L}]{2,63}$/u;

/** One label may hold one hyphen, after its first letter; of several the last is of letters. */
function isHostname(text: string): boolean {
  if (Buffer.byteLength(text) > 255) return false;
  const labels = text.split('.');
  if (labels.some((part) => Buffer.byteLength(part) > 63)) return false;
  if (labels.length === 1) return singleLabel.test(text);
  return topLevel.test(labels.at(-1)!) && labels.slice(0, -1).every((part) => label.test(part));
}

function isIpv6(text: string): boolean {
  const address = text.includes(':') ? parseIp(text) : undefined;
  return address !== undefined && !address.leadingZeros;
}

/** Six, eight or twenty bytes, by twos between colons or hyphens or by fours between dots. */
function isMac(text: string): boolean {
  if (!/^(?:[0-9a-f]{2}(?:(?::[0-9a-f]{2})+|(?:-[0-9a-f]{2})+)|[0-9a-f]{4}(?:\.[0-9a-f]{4})+)$/i.test(text))
    return false;
  return [6, 8, 20].includes(text.replace(/[-:.]/g, '').length / 2);
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, '');
  if (!/^(?:[0-9]{9}X|[0-9]{10})$/.test(digits)) return false;
  const sum = [...digits].reduce((total, digit, i) => total + (i + 1) * (digit === 'X' ? 10 : Number(digit)), 0);
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, '');
  if (!/^[0-9]{13}$/.test(digits)) return false;
  return [...digits].reduce((total, digit, i) => total + (i % 2 === 0 ? 1 : 3) * Number(digit), 0) % 10 === 0;
}

/** Luhn's sum over the digits; whatever else is between them does not count. */
function isCreditCard(text: string): boolean {
  const digits = text.replace(/[^0-9]+/g, '');
  if (!creditCard.test(digits)) return false;
  const sum = [...digits].reverse().reduce((total, digit, i) => {
    const value = Number(digit) * (i % 2 === 0 ? 1 : 2);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

function isBase64(text: string): boolean {
  return text.length > 0 && text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);
}

function isDate(text: string): boolean {
  const found = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (!found) return false;
  const [year, month, day] = found.slice(1).map(Number) as [number, number, number];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

function isDateTime(text: string): boolean {
  const [date = '', time = ''] = text.toLowerCase().split('t');
  const found = /^(\d\d):(\d\d):(\d\d)(?:.\d+)?(?:z|[+-]\d\d:\d\d)$/.exec(time);
  return isDate(date) && found !== null && found[1]! <= '23' && found[2]! <= '59' && found[3]! <= '59';
}

const shortUnits: ReadonlySet<string> = new Set(['ns', 'us', 'µs', 'ms', 's', 'm', 'h', 'hr', 'd', 'w', 'wk']);
const longUnits = /^(?:nano|micro|milli|sec|min|hour|day|week)/;

/** Go's `1h30m`, or numbers and units in words anywhere in the text: `2 weeks`. */
function isDuration(text: string): boolean {
  if (parseDuration(text) !== undefined) return true;
  const words = text.match(/\d+|\s+|[A-Za-zµ]+|[^\d\sA-Za-zµ]+/g) ?? [];
  let found = false;
  for (const [index, word] of words.entries()) {
    if (!/^\d/.test(word)) continue;
    const next = words[index + 1] ?? '';
    const unit = (/^\s/.test(next) ? (words[index + 2] ?? '') : next).toLowerCase();
    if (!/^[a-zµ]/.test(unit)) continue;
    if (word.replace(/^0+/, '').length > 18) return false;
    found ||= shortUnits.has(unit) || longUnits.test(unit);
  }
  return found;
}
