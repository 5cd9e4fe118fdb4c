/**
 * The rules for names, keys and other short texts, with upstream's messages. Each function returns what is wrong with a value,
 * nothing wrong being an empty list; the callers turn messages into field errors.
 */

const labelFormat = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomainFormat = `${labelFormat}(\\.${labelFormat})*`;
const underscoreLabelFormat = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const underscoreSubdomainFormat = `${underscoreLabelFormat}(\\.${underscoreLabelFormat})*`;
const wildcardSubdomainFormat = `\\*\\.${subdomainFormat}`;
const dns1035Format = '[a-z]([-a-z0-9]*[a-z0-9])?';
const qualifiedNameFormat = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelValueFormat = `(${qualifiedNameFormat})?`;
const configMapKeyFormat = '[-._a-zA-Z0-9]+';
const envVarNameFormat = '[-._a-zA-Z][-._a-zA-Z0-9]*';
const cIdentifierFormat = '[A-Za-z_][A-Za-z0-9_]*';
const percentFormat = '[0-9]+%';
const httpHeaderNameFormat = '[-A-Za-z0-9]+';
const httpPathFormat = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";

const patterns = {
  label: whole(labelFormat),
  subdomain: whole(subdomainFormat),
  underscoreSubdomain: whole(underscoreSubdomainFormat),
  wildcardSubdomain: whole(wildcardSubdomainFormat),
  dns1035: whole(dns1035Format),
  qualifiedName: whole(qualifiedNameFormat),
  labelValue: whole(labelValueFormat),
  configMapKey: whole(configMapKeyFormat),
  envVarName: whole(envVarNameFormat),
  cIdentifier: whole(cIdentifierFormat),
  percent: whole(percentFormat),
  httpHeaderName: whole(httpHeaderNameFormat),
  httpPath: whole(httpPathFormat),
} as const;

function whole(format: string): RegExp {
  return new RegExp(`^(?:${format})$`);
}

export const dns1123LabelMaxLength = 63;
export const dns1123SubdomainMaxLength = 253;
const labelValueMaxLength = 63;

/** Go measures strings in UTF-8 bytes. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text);
}

function maxLengthMessage(length: number): string {
  return `must be no more than ${length} characters`;
}

/** The newer rules (label keys and values) count in bytes and say so. */
function maxBytesMessage(length: number): string {
  return `must be no more than ${length} bytes`;
}

/** `message (e.g. 'a', or 'b', regex used for validation is 'format')`. */
export function regexMessage(message: string, format: string, ...examples: readonly string[]): string {
  const used = `regex used for validation is '${format}')`;
  if (examples.length === 0) return `${message} (${used}`;
  return `${message} (e.g. ${examples.map((example) => `'${example}', `).join(' or ')}${used}`;
}

export function inclusiveRangeMessage(low: number, high: number): string {
  return `must be between ${low} and ${high}, inclusive`;
}

export const emptyMessage = 'must be non-empty';
export const nonNegativeMessage = 'must be greater than or equal to 0';
export const immutableMessage = 'field is immutable';

/** A DNS-1123 label: `my-name`. Names of Namespaces and containers. */
export function dns1123Label(value: string): string[] {
  const messages = tooLong(value, dns1123LabelMaxLength);
  if (patterns.label.test(value)) return messages;
  if (patterns.subdomain.test(value)) return [...messages, 'must not contain dots'];
  const rule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
  return [...messages, regexMessage(rule, labelFormat, 'my-name', '123-abc')];
}

const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";

/** A DNS-1123 subdomain: `example.com`. The rule for most names. */
export function dns1123Subdomain(value: string): string[] {
  const messages = tooLong(value, dns1123SubdomainMaxLength);
  if (!patterns.subdomain.test(value)) messages.push(regexMessage(subdomainRule, subdomainFormat, 'example.com'));
  return messages;
}

/** As `dns1123Subdomain`, underscores allowed (DNS search paths). */
export function dns1123SubdomainWithUnderscore(value: string): string[] {
  const messages = tooLong(value, dns1123SubdomainMaxLength);
  if (patterns.underscoreSubdomain.test(value)) return messages;
  const rule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character";
  return [...messages, regexMessage(rule, underscoreSubdomainFormat, 'example.com')];
}

/** `*.example.com`. */
export function wildcardDns1123Subdomain(value: string): string[] {
  const messages = tooLong(value, dns1123SubdomainMaxLength);
  if (patterns.wildcardSubdomain.test(value)) return messages;
  const rule =
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character";
  return [...messages, regexMessage(rule, wildcardSubdomainFormat, '*.example.com')];
}

/** A DNS-1035 label: as DNS-1123, but beginning with a letter. Names of Services. */
export function dns1035Label(value: string): string[] {
  const messages = tooLong(value, dns1123LabelMaxLength);
  if (patterns.dns1035.test(value)) return messages;
  const rule =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
  return [...messages, regexMessage(rule, dns1035Format, 'my-name', 'abc-123')];
}

const qualifiedNameRule =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/** `name` or `example.com/name`: keys of labels and annotations, finalizers, resource names. */
export function qualifiedName(value: string): string[] {
  const rule = () => regexMessage(qualifiedNameRule, qualifiedNameFormat, 'MyName', 'my.name', '123-abc');
  const parts = value.split('/');
  if (parts.length > 2) {
    return [`a valid label key ${rule()} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const messages: string[] = [];
  const name = parts.at(-1)!;
  if (parts.length === 2) {
    const prefix = parts[0]!;
    if (prefix === '') messages.push(`prefix part ${emptyMessage}`);
    else messages.push(...prefixMessages(prefix).map((message) => `prefix part ${message}`));
  }
  if (name === '') messages.push(`name part ${emptyMessage}`);
  else if (byteLength(name) > labelValueMaxLength) messages.push(`name part ${maxBytesMessage(labelValueMaxLength)}`);
  if (!patterns.qualifiedName.test(name)) messages.push(`name part ${rule()}`);
  return messages;
}

function prefixMessages(prefix: string): string[] {
  const messages = byteLength(prefix) > dns1123SubdomainMaxLength ? [maxBytesMessage(dns1123SubdomainMaxLength)] : [];
  if (!patterns.subdomain.test(prefix)) messages.push(regexMessage(subdomainRule, subdomainFormat, 'example.com'));
  return messages;
}

export function labelValue(value: string): string[] {
  const messages = byteLength(value) > labelValueMaxLength ? [maxBytesMessage(labelValueMaxLength)] : [];
  if (patterns.labelValue.test(value)) return messages;
  const rule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  return [...messages, regexMessage(rule, labelValueFormat, 'MyValue', 'my_value', '12345')];
}

/** A part of a URL path: names of RBAC objects and others of free form. With `prefix`, `.` and `..` may still grow. */
export function pathSegmentName(value: string, prefix = false): string[] {
  if (!prefix && (value === '.' || value === '..')) return [`may not be '${value}'`];
  return ['/', '%'].filter((illegal) => value.includes(illegal)).map((illegal) => `may not contain '${illegal}'`);
}

/** Keys of ConfigMaps and Secrets. */
export function configMapKey(value: string): string[] {
  const messages = tooLong(value, dns1123SubdomainMaxLength);
  if (!patterns.configMapKey.test(value)) {
    const rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
    messages.push(regexMessage(rule, configMapKeyFormat, 'key.name', 'KEY_NAME', 'key-name'));
  }
  return [...messages, ...parentFolderMessages(value)];
}

/** The strict form of an environment variable's name. */
export function envVarName(value: string): string[] {
  const messages: string[] = [];
  if (!patterns.envVarName.test(value)) {
    const rule =
      "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit";
    messages.push(regexMessage(rule, envVarNameFormat, 'my.env-name', 'MY_ENV.NAME', 'MyEnvName1'));
  }
  return [...messages, ...parentFolderMessages(value)];
}

/** The form in force: any printable ASCII but `=`. */
export function relaxedEnvVarName(value: string): string[] {
  if (value === '') return [`environment variable name ${emptyMessage}`];
  if (/^[\x20-\x3c\x3e-\x7e]*$/.test(value)) return [];
  return ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
}

export function cIdentifier(value: string): string[] {
  if (patterns.cIdentifier.test(value)) return [];
  const rule =
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'";
  return [regexMessage(rule, cIdentifierFormat, 'my_name', 'MY_NAME', 'MyName')];
}

export function portNumber(value: number): string[] {
  return value >= 1 && value <= 65535 ? [] : [inclusiveRangeMessage(1, 65535)];
}

/** An IANA service name: names of ports that probes and Services refer to. */
export function portName(value: string): string[] {
  const messages = tooLong(value, 15);
  if (!/^[-a-z0-9]+$/.test(value)) {
    messages.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  }
  if (!/[a-z]/.test(value)) messages.push('must contain at least one letter (a-z)');
  if (value.includes('--')) messages.push('must not contain consecutive hyphens');
  if (value.startsWith('-') || value.endsWith('-')) messages.push('must not begin or end with a hyphen');
  return messages;
}

export function percent(value: string): string[] {
  if (patterns.percent.test(value)) return [];
  const rule = "a valid percent string must be a numeric string followed by an ending '%'";
  return [regexMessage(rule, percentFormat, '1%', '93%')];
}

export function httpHeaderName(value: string): string[] {
  if (patterns.httpHeaderName.test(value)) return [];
  const rule = "a valid HTTP header must consist of alphanumeric characters or '-'";
  return [regexMessage(rule, httpHeaderNameFormat, 'X-Header-Name')];
}

/** User and group ids: 0 to 2^31-1. */
export function userOrGroupId(value: number): string[] {
  return value >= 0 && value <= 2147483647 ? [] : [inclusiveRangeMessage(0, 2147483647)];
}

/** The path of `example.com/path`. */
export function httpPath(value: string): string[] {
  return patterns.httpPath.test(value) ? [] : [regexMessage('Invalid path', httpPathFormat)];
}

/** A whole number in its shortest form: `7`, `-12`, not `007`. */
export function decimalInteger(value: string): string[] {
  if (value === '') return [emptyMessage];
  return /^(0|-?[1-9][0-9]*)$/.test(value) ? [] : ['must be a valid decimal integer in canonical form'];
}

/** Rules for `metadata.name`. With `prefix` the value is a `generateName`, which may end in a dash. */
export type NameRule = (name: string, prefix: boolean) => string[];

export const nameIsDnsSubdomain: NameRule = (name, prefix) => dns1123Subdomain(prefix ? maskTrailingDash(name) : name);
export const nameIsDnsLabel: NameRule = (name, prefix) => dns1123Label(prefix ? maskTrailingDash(name) : name);
export const nameIsDns1035Label: NameRule = (name, prefix) => dns1035Label(prefix ? maskTrailingDash(name) : name);
export const nameIsPathSegment: NameRule = (name, prefix) => pathSegmentName(name, prefix);

function maskTrailingDash(name: string): string {
  return name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name;
}

function parentFolderMessages(value: string): string[] {
  if (value === '.') return ["must not be '.'"];
  if (value === '..') return ["must not be '..'"];
  return value.startsWith('..') ? ["must not start with '..'"] : [];
}

function tooLong(value: string, most: number): string[] {
  return byteLength(value) > most ? [maxLengthMessage(most)] : [];
}
