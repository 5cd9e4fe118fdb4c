/**
 * What expressions of the API may use: the language and the libraries, each from the release that brought it.
 *
 * A new expression may use what the release before the oldest that it could meet knows, so that rolling a server back leaves no
 * expression that it cannot read; one that is stored already may use all there is. Today's libraries are all old enough, so the two
 * differ only for who asks for an older release.
 */
import { Environment, type Library } from '../index.ts';
import { authorization, authorizationSelectors } from './authorization.ts';
import { twoVariableComprehensions } from './comprehensions.ts';
import { namedFormats } from './formats.ts';
import { listExtension } from './list-extension.ts';
import { lists } from './lists.ts';
import { cidrs, ips } from './networks.ts';
import { optionalValues } from './optionals.ts';
import { quantities } from './quantities.ts';
import { regex } from './regex.ts';
import { semanticVersions } from './semantic-versions.ts';
import { sets } from './sets.ts';
import { firstTexts, texts } from './texts.ts';
import { urls } from './urls.ts';

export type ExpressionAge = 'new' | 'stored';

interface Arrival {
  readonly library: Library;
  /** Minor releases of Kubernetes 1: the first that has it, and the first that has it no longer. */
  readonly since: number;
  readonly until?: number;
}

const arrivals: readonly Arrival[] = [
  { library: urls, since: 0 },
  { library: regex, since: 0 },
  { library: lists, since: 0 },
  { library: authorization, since: 27 },
  { library: optionalValues, since: 28 },
  { library: quantities, since: 28 },
  { library: firstTexts, since: 0, until: 29 },
  { library: texts, since: 29 },
  { library: sets, since: 29 },
  { library: ips, since: 30 },
  { library: cidrs, since: 30 },
  { library: namedFormats, since: 31 },
  { library: authorizationSelectors, since: 31 },
  { library: twoVariableComprehensions, since: 32 },
  { library: semanticVersions, since: 33 },
  { library: listExtension, since: 34 },
];

/** The release that a new expression must be readable by: the one before this. */
const compatibilityMinor = 35;

/** The environment of expressions of an age. Made anew on each call: whoever compiles much keeps it. */
export function baseEnvironment(age: ExpressionAge, minor: number = compatibilityMinor): Environment {
  const release = age === 'stored' ? Number.POSITIVE_INFINITY : minor;
  const libraries = arrivals
    .filter(({ since, until }) => since <= release && (until === undefined || release < until))
    .map(({ library }) => library);
  return Environment.standard({ libraries });
}
