/** Paths and methods that are not served. */

import { mergePatch } from '../wire.ts';
import {
  bad,
  collection,
  configMap,
  deploymentsPath,
  type Mistake,
  noResource,
  patch,
  podsPath,
  post,
  put,
  refusedMethod,
} from './mistake.ts';

const badName = (name: string, problem: string) => ({
  ...bad,
  message: `Name parameter invalid: "${name}": ${problem}`,
});

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
  { name: 'a version that the core group does not have', path: '/api/v2', ...noResource },
  { name: 'a resource of a version that its group does not have', path: '/apis/apps/v2/deployments', ...noResource },
  { name: 'the old way through a proxy', path: '/api/v1/proxy/namespaces/default/pods/a', ...noResource },
  { name: 'something below a subresource', path: '/api/v1/namespaces/default/status/more', ...noResource },
  { name: 'bindings of all namespaces', ...post('{}', '/api/v1/bindings'), ...noResource },
  { name: 'a name that is two dots', path: `${collection}/%2e%2e`, ...badName('..', "may not be '..'") },
  { name: 'a name with a percent sign', path: `${collection}/a%25`, ...badName('a%', "may not contain '%'") },
  {
    name: 'a deletion of a name with a percent sign',
    method: 'DELETE',
    path: `${collection}/%25`,
    ...badName('%', "may not contain '%'"),
  },
  {
    name: 'an object as it would be exported',
    path: `${collection}/a?export=1`,
    ...bad,
    message: 'the export parameter, deprecated since v1.14, is no longer supported',
  },
  { name: 'an update by the old way of watching', ...put('{}', '/api/v1/watch/pods'), ...refusedMethod },
  { name: 'an update of a discovery document', ...put('{}', '/api/v1'), ...refusedMethod },
  { name: 'an update of the server', ...put('{}', '/version'), ...refusedMethod },
  {
    name: 'a Binding for another Pod',
    ...post('{"target":{"name":"n"}}', `${podsPath}/a/binding`),
    ...bad,
    message: 'name in URL does not match name in Binding object',
  },
  {
    name: 'an Eviction of another Pod',
    ...post('{}', `${podsPath}/a/eviction`),
    ...bad,
    message: 'name in URL does not match name in Eviction object',
  },
  {
    name: 'a Scale without a name, of nothing',
    ...put('{}', `${deploymentsPath}/none/scale`),
    ...bad,
    message: 'the name of the object (none based on URL) was undeterminable: name must be provided',
  },
  {
    name: 'a proxy to a Service that is not there',
    path: '/api/v1/namespaces/default/services/none/proxy',
    code: 404,
    reason: 'NotFound',
    message: 'services "none" not found',
  },
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
