/** URLs: `url(text)`, `isURL(text)`, and what is in one. */

import {
  checkRequestUri,
  type GoUrl,
  hostName,
  hostPort,
  isRequestUri,
  parseUrl,
  queryPairs,
  urlIdentity,
} from '../../go-url.ts';
import {
  ArrayList,
  boolType,
  CelError,
  CelOpaque,
  type CelResult,
  costs,
  type Library,
  listOf,
  mapOf,
  type Overload,
  objectType,
  scaled,
  stringType,
} from '../index.ts';
import { unitCost, walkCost } from './call-costs.ts';
import { GrowingMap } from './growing-map.ts';

const urlType = objectType('kubernetes.URL', {
  equality: {
    atRunTime: 1,
    estimate: ({ right }) => scaled({ min: 1, max: right?.max ?? 1 }, costs.traversal),
  },
});

class UrlValue extends CelOpaque {
  readonly type = urlType;
  readonly url: GoUrl;
  constructor(url: GoUrl) {
    super();
    this.url = url;
  }
  equals(other: CelOpaque): boolean {
    return other instanceof UrlValue && urlIdentity(other.url) === urlIdentity(this.url);
  }
}

export const urls: Library = {
  types: [urlType],
  functions: [
    {
      name: 'url',
      overloads: [{ id: 'string_to_url', parameters: [stringType], result: urlType, call: toUrl }],
      ...walkCost(1, (size) => size),
    },
    {
      name: 'isURL',
      overloads: [{ id: 'is_url_string', parameters: [stringType], result: boolType, call: isRequestUri }],
    },
    part('getScheme', 'url_get_scheme', (url) => url.scheme),
    part('getHost', 'url_get_host', (url) => url.host),
    part('getHostname', 'url_get_hostname', (url) => hostName(url.host)),
    part('getPort', 'url_get_port', (url) => hostPort(url.host)),
    part('getEscapedPath', 'url_get_escaped_path', (url) => url.escapedPath),
    {
      name: 'getQuery',
      overloads: [
        {
          id: 'url_get_query',
          member: true,
          parameters: [urlType],
          result: mapOf(stringType, listOf(stringType)),
          call: (value: UrlValue) => query(value),
        },
      ],
      ...unitCost,
    },
  ],
};

function part(name: string, id: string, read: (url: GoUrl) => string) {
  const overload: Overload = {
    id,
    member: true,
    parameters: [urlType],
    result: stringType,
    call: (value: UrlValue) => read(value.url),
  };
  return { name, overloads: [overload], ...unitCost };
}

function toUrl(text: string): CelResult {
  try {
    checkRequestUri(text);
    return new UrlValue(parseUrl(text));
  } catch (error) {
    return new CelError(`URL parse error during conversion from string: ${(error as Error).message}`);
  }
}

function query(value: UrlValue): CelResult {
  const pairs = [...queryPairs(value.url.rawQuery)];
  return GrowingMap.of(pairs.map(([name, values]) => [name, new ArrayList(values)] as const));
}
