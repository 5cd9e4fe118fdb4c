/** Which level and version of the standards a namespace asks for by its labels. */
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

export function policyOf(labels: Readonly<Record<string, string>> | undefined): Policy {
  const errors: FieldError[] = [];
  const read = (mode: string, otherwise: Level): LevelVersion => {
    const [levelKey, versionKey] = [`${prefix}${mode}`, `${prefix}${mode}-version`];
    const [levelText, versionText] = [labels?.[levelKey], labels?.[versionKey]];
    const level = levels.find((known) => known === levelText);
    const match = /^v1\.(0|[1-9][0-9]*)$/.exec(versionText ?? '');
    const at = path('metadata', 'labels');
    if (levelText !== undefined && !level)
      errors.push(invalidValue(at.key(levelKey), levelText, `must be one of ${levels.join(', ')}`));
    if (versionText !== undefined && versionText !== 'latest' && !match) {
      errors.push(invalidValue(at.key(versionKey), versionText, 'must be "latest" or "v1.x"'));
    }
    return {
      level: levelText === undefined ? 'privileged' : (level ?? otherwise),
      minor: match ? Number(match[1]) : latest,
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
