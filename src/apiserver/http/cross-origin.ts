/**
 * Pages of other origins as clients of this server (`--cors-allowed-origins`): which of them a browser may let through to it. It answers
 * the question that a browser asks before it sends, and adds to answers what the browser wants to read there. Who uses the page and what
 * they may do is for authentication and authorization to say, as with any client.
 */
import { compileGoRegexp } from '../../apimachinery/go-regexp.ts';
import type { ApiRequest, ApiResponse } from '../request.ts';

type Handle = (request: ApiRequest) => Promise<ApiResponse>;

const granted = {
  'access-control-allow-methods': 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
  'access-control-allow-headers':
    'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
  'access-control-expose-headers': 'Date',
  'access-control-allow-credentials': 'true',
};

/** `origins`: Go's regular expressions, one of which an origin has to match. Throws for one that is none. */
export function withCrossOrigin(handle: Handle, origins: readonly string[]): Handle {
  const patterns = origins.map(compileGoRegexp);
  return async (request) => {
    const { origin } = request.headers;
    if (!origin || !patterns.some((allows) => allows(origin))) return handle(request);
    const headers = { 'access-control-allow-origin': origin, ...granted };
    if (request.method === 'OPTIONS') return { status: 204, headers, body: { kind: 'bytes', chunks: [] } };
    const response = await handle(request);
    return { ...response, headers: { ...response.headers, ...headers } };
  };
}

const help =
  "List of allowed origins for CORS, comma separated. An allowed origin can be a regular expression to support subdomain matching. If this list is empty CORS will not be enabled. Please ensure each expression matches the entire hostname by anchoring to the start with '^' or including the '//' prefix, and by anchoring to the end with '$' or including the ':' port separator suffix. Examples of valid expressions are '//example\\.com(:|$)' and '^https://example\\.com(:|$)'";

/** What is wrong with the flag's values, in upstream's words. */
export function crossOriginProblems(origins: readonly string[]): string[] {
  return origins.flatMap((origin) => {
    if (origin === '') return [`empty value in --cors-allowed-origins, help: ${help}`];
    const problem = patternProblem(origin);
    return problem ? [`--cors-allowed-origins has an invalid regular expression: ${problem}, help: ${help}`] : [];
  });
}

/** A pattern that would match in the middle of a stranger's name (CVE-2022-1996) is refused. */
function patternProblem(pattern: string): string | undefined {
  try {
    compileGoRegexp(pattern);
  } catch (error) {
    return (error as Error).message;
  }
  const pinned = /\^|\/\//.test(pattern) && /[$:]/.test(pattern);
  return pinned ? undefined : 'regular expression does not pin to start/end of host in the origin header';
}
