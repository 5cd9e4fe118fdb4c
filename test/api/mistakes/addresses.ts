/** Paths and methods that are not served. */

import { mergePatch } from '../wire.ts';
import { bad, collection, configMap, type Mistake, noResource, patch, post, put, refusedMethod } from './mistake.ts';

export const addresses: readonly Mistake[] = [
  { name: 'an unknown resource', path: '/api/v1/nonsense', ...noResource },
  { name: 'an unknown resource in a namespace', path: '/api/v1/namespaces/default/nonsense/x', ...noResource },
  { name: 'an unknown subresource', path: `${collection}/a/nonsense`, ...noResource },
  { name: 'a subresource that the kind does not have', path: `${collection}/a/status`, ...noResource },
  { name: 'a namespaced object without its namespace', path: '/api/v1/configmaps/a', ...noResource },
  { name: 'a name with a slash in it', path: `${collection}/a%2Fb`, ...noResource },
  { name: 'a name that leads elsewhere', path: `${collection}/..%2F..%2F..%2Fsecrets`, ...noResource },
  { name: 'a creation by name', ...post(configMap('a'), `${collection}/a`), ...refusedMethod },
  { name: 'an update of a collection', ...put(configMap('a'), collection), ...refusedMethod },
  { name: 'a patch of a collection', ...patch(mergePatch, '{}'), path: collection, ...refusedMethod },
  { name: 'a creation in all namespaces', ...post(configMap('a'), '/api/v1/configmaps'), ...refusedMethod },
  { name: 'the deletion of all namespaces', method: 'DELETE', path: '/api/v1/namespaces', ...refusedMethod },
  { name: 'the creation of a component status', ...post('{}', '/api/v1/componentstatuses'), ...refusedMethod },
  {
    name: 'a review that is asked for without a question',
    path: '/apis/authentication.k8s.io/v1/tokenreviews',
    ...refusedMethod,
  },
  ...['PROPFIND', 'OPTIONS', 'TRACE'].map((method) => ({
    name: `the method ${method}`,
    method,
    path: collection,
    ...refusedMethod,
  })),
  {
    name: 'a watch of what cannot be watched',
    path: '/api/v1/componentstatuses?watch=1',
    code: 405,
    reason: 'MethodNotAllowed',
    message: 'watch is not supported on resources of kind "componentstatuses"',
  },
  {
    name: 'a path that is not properly encoded',
    path: '/api/v1/%zz',
    ...bad,
    message: 'the path of the request is not properly encoded',
  },
];
