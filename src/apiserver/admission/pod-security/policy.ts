/** Which level and version of the standards a namespace asks for by its labels; what it does not say, the configuration does. */
import { type FieldError, invalid as invalidValue, path } from '../../../apimachinery/field-error.ts';

export type Level = 'privileged' | 'baseline' | 'restricted';

export interface LevelVersion {
  readonly level: Level;
  /** Minor version; infinite for `latest`. */
  readonly minor: number;
}

export interface Policy {
  readonly enforce: LevelVersion;
  readonly audit: LevelVersion;
  readonly warn: LevelVersion;
  readonly errors: readonly FieldError[];
}

const levels: readonly Level[] = ['privileged', 'baseline', 'restricted'];
const prefix = 'pod-security.kubernetes.io/';
const latest = Number.POSITIVE_INFINITY;

const privileged: LevelVersion = { level: 'privileged', minor: latest };
/** Where nothing is configured, all is allowed. */
const privilegedPolicy: Policy = { enforce: privileged, audit: privileged, warn: privileged, errors: [] };

export type Mode = 'enforce' | 'audit' | 'warn';
export const modes: readonly Mode[] = ['enforce', 'audit', 'warn'];

/** Undefined for a text that is neither. */
export function parseLevelVersion(level: string, version: string): Partial<LevelVersion> {
  const match = /^v1\.(0|[1-9][0-9]*)$/.exec(version);
  const known = levels.find((candidate) => candidate === level);
  return {
    ...(known ? { level: known } : {}),
    ...(match ? { minor: Number(match[1]) } : version === 'latest' ? { minor: latest } : {}),
  };
}

export const levelMessage: string = `must be one of ${levels.join(', ')}`;
export const versionMessage = 'must be "latest" or "v1.x"';

export function isFullyPrivileged(policy: Policy): boolean {
  return modes.every((mode) => policy[mode].level === 'privileged');
}

/** Whether a namespace says anything of a mode. */
export function asksFor(mode: Mode, labels: Readonly<Record<string, string>> | undefined): boolean {
  return labels?.[`${prefix}${mode}`] !== undefined || labels?.[`${prefix}${mode}-version`] !== undefined;
}

export function policyOf(labels: Readonly<Record<string, string>> | undefined, defaults = privilegedPolicy): Policy {
  if (!labels || Object.keys(labels).length === 0) return defaults;
  const errors: FieldError[] = [];
  const read = (mode: Mode, otherwise: Level): LevelVersion => {
    const [levelKey, versionKey] = [`${prefix}${mode}`, `${prefix}${mode}-version`];
    const [levelText, versionText] = [labels?.[levelKey], labels?.[versionKey]];
    const { level, minor } = parseLevelVersion(levelText ?? '', versionText ?? '');
    const at = path('metadata', 'labels');
    if (levelText !== undefined && !level) errors.push(invalidValue(at.key(levelKey), levelText, levelMessage));
    if (versionText !== undefined && minor === undefined) {
      errors.push(invalidValue(at.key(versionKey), versionText, versionMessage));
    }
    return {
      level: levelText === undefined ? defaults[mode].level : (level ?? otherwise),
      minor: versionText === undefined ? defaults[mode].minor : (minor ?? latest),
    };
  };
  // A label that cannot be read enforces the strictest, and only tells nothing.
  const enforce = read('enforce', 'restricted');
  const audit = read('audit', 'privileged');
  const told = read('warn', 'privileged');
  const silent =
    labels?.[`${prefix}warn`] === undefined && levels.some((level) => level === labels?.[`${prefix}enforce`]);
  const follows = silent && levels.indexOf(enforce.level) > levels.indexOf(told.level);
  const warnMinor = labels?.[`${prefix}warn-version`] === undefined ? enforce.minor : told.minor;
  return { enforce, audit, warn: follows ? { level: enforce.level, minor: warnMinor } : told, errors };
}

/** `baseline:latest`, `restricted:v1.28` */
export function policyText({ level, minor }: LevelVersion): string {
  return `${level}:${minor === latest ? 'latest' : `v1.${minor}`}`;
}

export function isStricter(a: LevelVersion, b: LevelVersion): boolean {
  return levels.indexOf(a.level) > levels.indexOf(b.level);
}

export function samePolicy(a: LevelVersion, b: LevelVersion): boolean {
  return a.level === b.level && a.minor === b.minor;
}
