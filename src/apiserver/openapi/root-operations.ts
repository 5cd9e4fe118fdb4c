/** The paths above the group versions: discovery of groups, and the server's version. */
import { type Operation, objectMediaTypes, type PathOperations, type SchemaReference } from './operations.ts';

/** `api`, `apis`, `apis/apps` or `version`. */
export function rootOperations(name: string): PathOperations[] {
  if (name === 'api') return [root('/api/', 'core', 'getCoreAPIVersions', 'list the core versions', 'APIVersions')];
  if (name === 'apis') return [root('/apis/', 'apis', 'getAPIVersions', 'list the groups', 'APIGroupList')];
  if (name === 'version') return [versionOperation()];
  const words = name
    .slice('apis/'.length)
    .replace(/\.k8s\.io$/, '')
    .split(/[.-]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  const title = words.join('');
  const tag = title.charAt(0).toLowerCase() + title.slice(1);
  return [root(`/${name}/`, tag, `get${title}APIGroup`, 'show the versions of the group', 'APIGroup')];
}

function root(path: string, tag: string, id: string, description: string, kind: string): PathOperations {
  return { path, operations: [operation(tag, id, description, (schemas) => schemas.reference(`meta/v1.${kind}`))] };
}

function versionOperation(): PathOperations {
  const required = [
    'major',
    'minor',
    'gitVersion',
    'gitCommit',
    'gitTreeState',
    'buildDate',
    'goVersion',
    'compiler',
    'platform',
  ];
  const others = ['emulationMajor', 'emulationMinor', 'minCompatibilityMajor', 'minCompatibilityMinor'];
  const info: SchemaReference = (schemas) =>
    schemas.referenceTo('io.k8s.apimachinery.pkg.version.Info', () => ({
      description: 'How the server was built.',
      type: 'object',
      properties: Object.fromEntries([...required, ...others].map((name) => [name, { type: 'string' }])),
      required,
    }));
  const version = operation('version', 'getCodeVersion', 'get the version of the server', info);
  return { path: '/version/', operations: [{ ...version, produces: ['application/json'] }] };
}

function operation(tag: string, id: string, description: string, answer: SchemaReference): Operation {
  return {
    method: 'get',
    id,
    description,
    tag,
    parameters: [],
    responses: { 200: answer },
    produces: objectMediaTypes,
  };
}
