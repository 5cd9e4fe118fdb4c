/**
 * `PodSecurityConfiguration` of `--admission-control-config-file`: what holds where a namespace does not say, and whom nothing of it
 * concerns.
 */
import { duplicate, errorsText, type FieldError, invalid, path } from '../../../apimachinery/field-error.ts';
import { dns1123Label, dns1123Subdomain } from '../../../apimachinery/names.ts';
import {
  type LevelVersion,
  levelMessage,
  type Mode,
  modes,
  type Policy,
  parseLevelVersion,
  versionMessage,
} from './policy.ts';

export interface Exemptions {
  readonly usernames: ReadonlySet<string>;
  readonly namespaces: ReadonlySet<string>;
  readonly runtimeClasses: ReadonlySet<string>;
}

export interface PodSecuritySettings {
  readonly defaults: Policy;
  readonly exemptions: Exemptions;
}

interface Written {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly defaults?: Readonly<Record<string, string>>;
  readonly exemptions?: Readonly<Partial<Record<keyof Exemptions, readonly string[]>>>;
}

const versions = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `pod-security.admission.config.k8s.io/${version}`);

/** Throws an error that names every problem. */
export function podSecuritySettings(configuration: unknown): PodSecuritySettings {
  const { apiVersion = '', kind = '', defaults = {}, exemptions = {} } = configuration as Written;
  if (kind !== 'PodSecurityConfiguration' || !versions.includes(apiVersion))
    throw new Error(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`);
  const errors: FieldError[] = [];
  const policy = Object.fromEntries(modes.map((mode) => [mode, modeOf(mode, defaults, errors)]));
  const rules: Readonly<Record<keyof Exemptions, (value: string) => readonly string[]>> = {
    namespaces: dns1123Label,
    runtimeClasses: dns1123Subdomain,
    usernames: (name) => (name === '' ? ['username must not be empty'] : []),
  };
  const exempt = Object.fromEntries(
    Object.entries(rules).map(([name, rule]) => {
      const list = exemptions[name as keyof Exemptions] ?? [];
      errors.push(...listErrors(name, list, rule));
      return [name, new Set(list)];
    }),
  );
  if (errors.length > 0) throw new Error(errorsText(errors));
  return {
    defaults: { ...(policy as Record<Mode, LevelVersion>), errors: [] },
    exemptions: exempt as unknown as Exemptions,
  };
}

function modeOf(mode: Mode, defaults: NonNullable<Written['defaults']>, errors: FieldError[]): LevelVersion {
  const [levelText, versionText] = [defaults[mode] || 'privileged', defaults[`${mode}-version`] || 'latest'];
  const { level, minor } = parseLevelVersion(levelText, versionText);
  if (level === undefined) errors.push(invalid(path('defaults', mode), levelText, levelMessage));
  if (minor === undefined) errors.push(invalid(path('defaults', `${mode}-version`), versionText, versionMessage));
  return { level: level ?? 'restricted', minor: minor ?? Number.POSITIVE_INFINITY };
}

function listErrors(name: string, list: readonly string[], rule: (value: string) => readonly string[]): FieldError[] {
  return list.flatMap((value, index) => {
    const at = path('exemptions', name).index(index);
    const messages = rule(value);
    if (messages.length > 0) return [invalid(at, value, messages.join(', '))];
    return list.indexOf(value) < index ? [duplicate(at, value)] : [];
  });
}
