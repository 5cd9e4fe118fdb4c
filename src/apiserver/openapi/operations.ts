/**
 * What can be done at which path, independent of how a version of OpenAPI writes it down. Derived from a resource's verbs and
 * subresources; `document-v2.ts` and `document-v3.ts` render it.
 */

import type { SubresourceRow } from '../../apimachinery/schema.ts';
import type { DiscoveredResource } from '../discovery/discovered.ts';
import {
  collectionDeleteParameters,
  deleteParameters,
  listParameters,
  nameParameter,
  namespaceParameter,
  type Parameter,
  parametersOfOptions,
  patchParameters,
  pathParameter,
  prettyParameter,
  writeParameters,
} from './parameters.ts';
import type { Json, SchemaCollector } from './schemas.ts';

/** A resource as the document needs it: one of the tables by its type ids, or a custom one by its JSON schema. */
export type DocumentedResource = DiscoveredResource & {
  readonly type?: string | undefined;
  readonly list?: string | undefined;
  /** `openAPIV3Schema` of a custom resource's version. */
  readonly schema?: Json | undefined;
  /** Of a custom resource's list, where it is not the kind and `List`. */
  readonly listKind?: string | undefined;
};

export type HttpMethod = 'get' | 'put' | 'post' | 'delete' | 'options' | 'head' | 'patch';

/** Makes the schema of a body when a document is rendered, since only then its dialect is known. */
export type SchemaReference = (schemas: SchemaCollector) => Json;

export interface Operation {
  readonly method: HttpMethod;
  readonly id: string;
  readonly description: string;
  readonly tag: string;
  readonly action?: string;
  readonly gvk?: { readonly group: string; readonly version: string; readonly kind: string };
  readonly parameters: readonly Parameter[];
  readonly body?: { readonly schema: SchemaReference; readonly required: boolean; readonly isPatch?: boolean };
  /** Success codes; `text` is a plain string, undefined an answer without a described body. */
  readonly responses: Readonly<Record<string, SchemaReference | 'text' | undefined>>;
  readonly produces: readonly string[];
}

export interface PathOperations {
  readonly path: string;
  readonly operations: readonly Operation[];
}

export const objectMediaTypes: readonly string[] = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
];
const listMediaTypes: readonly string[] = [
  ...objectMediaTypes,
  'application/json;stream=watch',
  'application/vnd.kubernetes.protobuf;stream=watch',
];
const anyMediaType: readonly string[] = ['*/*'];
const logMediaTypes: readonly string[] = ['text/plain', ...objectMediaTypes];

const status: SchemaReference = (schemas) => schemas.reference('meta/v1.Status');
const deleteOptions: SchemaReference = (schemas) => schemas.reference('meta/v1.DeleteOptions');
const watchEvent: SchemaReference = (schemas) => schemas.reference('meta/v1.WatchEvent');
const resourceList: SchemaReference = (schemas) => schemas.reference('meta/v1.APIResourceList');

/** Deleting one of these answers with the object, not with a Status. */
const answersWithDeleted: ReadonlySet<string> = new Set([
  'PersistentVolumeClaim',
  'Pod',
  'PodTemplate',
  'ResourceQuota',
  'ServiceAccount',
  'Service',
  'PersistentVolume',
  'DeviceClass',
  'ResourceClaim',
  'ResourceClaimTemplate',
  'ResourceSlice',
  'DeviceTaintRule',
  'ResourcePoolStatusRequest',
  'CSIDriver',
  'CSINode',
  'StorageClass',
  'VolumeAttachment',
  'VolumeAttributesClass',
]);

/** Everything at the paths of one group version, its own discovery document included. */
export function operationsOf(
  { group, version }: { readonly group: string; readonly version: string },
  resources: readonly DocumentedResource[],
  references: (resource: DocumentedResource) => ResourceReferences,
): PathOperations[] {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const names = namesOf(group, version);
  const discovery: Operation = {
    method: 'get',
    id: `get${names.title}APIResources`,
    description: 'list the resources of this version',
    tag: names.tag,
    parameters: [],
    responses: { 200: resourceList },
    produces: objectMediaTypes,
  };
  const paths = resources.flatMap((resource) => new ResourcePaths(root, names, resource, references(resource)).paths());
  return [{ path: `${root}/`, operations: [discovery] }, ...paths];
}

/** How the object and its list are referred to, and the kinds of its subresources. */
export interface ResourceReferences {
  readonly object: SchemaReference;
  readonly list: SchemaReference;
  /** Type id of a subresource's kind; undefined for the resource's own. */
  subresourceType(subresource: SubresourceRow): string | undefined;
  /** The fields of a type that become query parameters of a connection. */
  optionParameters(typeId: string): readonly { readonly name: string; readonly type: string }[];
}

interface Names {
  /** `CoreV1`, `RbacAuthorizationV1`. */
  readonly title: string;
  /** `core_v1`, `rbacAuthorization_v1`. */
  readonly tag: string;
}

function namesOf(group: string, version: string): Names {
  const words = (group === '' ? 'core' : group.replace(/\.k8s\.io$/, '')).split(/[.-]/).map(capitalize);
  const title = words.join('');
  return { title: title + capitalize(version), tag: `${title.charAt(0).toLowerCase()}${title.slice(1)}_${version}` };
}

class ResourcePaths {
  readonly #root: string;
  readonly #names: Names;
  readonly #resource: DocumentedResource;
  readonly #refs: ResourceReferences;
  /** `NamespacedPod` or `Node`. */
  readonly #scoped: string;
  readonly #scope: readonly Parameter[];

  constructor(root: string, names: Names, resource: DocumentedResource, refs: ResourceReferences) {
    this.#root = root;
    this.#names = names;
    this.#resource = resource;
    this.#refs = refs;
    this.#scoped = resource.namespaced ? `Namespaced${resource.kind}` : resource.kind;
    this.#scope = resource.namespaced ? [namespaceParameter, prettyParameter] : [prettyParameter];
  }

  paths(): PathOperations[] {
    const { namespaced, resource, subresources } = this.#resource;
    const collection = namespaced ? `/namespaces/{namespace}/${resource}` : `/${resource}`;
    const object = `${collection}/{name}`;
    const result = [
      { path: this.#root + collection, operations: this.#collection() },
      { path: this.#root + object, operations: this.#object() },
      ...subresources.flatMap((subresource) =>
        this.#subresource(`${this.#root}${object}/${subresource.name}`, subresource),
      ),
    ];
    if (namespaced && this.#has('list'))
      result.push({ path: `${this.#root}/${resource}`, operations: [this.#list('ForAllNamespaces')] });
    if (this.#has('watch')) result.push(...this.#watches(collection, object));
    return result.filter((path) => path.operations.length > 0);
  }

  #has(verb: string): boolean {
    return this.#resource.verbs.includes(verb);
  }

  /** `action` goes into the operation's id, `name` after it: `read` + `CoreV1` + `NamespacedPod`. */
  #id(action: string, name: string): string {
    return action + this.#names.title + name;
  }

  #operation(operation: Omit<Operation, 'tag' | 'produces'> & { readonly produces?: readonly string[] }): Operation {
    const { group, version, kind } = this.#resource;
    return { gvk: { group, version, kind }, produces: objectMediaTypes, ...operation, tag: this.#names.tag };
  }

  #collection(): Operation[] {
    const operations: Operation[] = [];
    if (this.#has('list')) operations.push(this.#list(''));
    if (this.#has('create')) operations.push(this.#create());
    if (this.#has('deletecollection')) {
      operations.push(
        this.#operation({
          method: 'delete',
          id: this.#id('delete', `Collection${this.#scoped}`),
          description: `delete collection of ${this.#resource.kind}`,
          action: 'deletecollection',
          parameters: [...collectionDeleteParameters, ...this.#scope],
          body: { schema: deleteOptions, required: false },
          responses: { 200: status },
        }),
      );
    }
    return operations;
  }

  #list(suffix: '' | 'ForAllNamespaces'): Operation {
    const { kind } = this.#resource;
    return this.#operation({
      method: 'get',
      id: this.#id('list', suffix === '' ? this.#scoped : kind + suffix),
      description: `list or watch objects of kind ${kind}`,
      action: 'list',
      parameters: [...listParameters, ...(suffix === '' ? this.#scope : [prettyParameter])],
      responses: { 200: this.#refs.list },
      produces: listMediaTypes,
    });
  }

  #create(): Operation {
    return this.#operation({
      method: 'post',
      id: this.#id('create', this.#scoped),
      description: `create ${article(this.#resource.kind)}`,
      action: 'post',
      parameters: [...writeParameters, ...this.#scope],
      body: { schema: this.#refs.object, required: true },
      responses: { 200: this.#refs.object, 201: this.#refs.object, 202: this.#refs.object },
    });
  }

  #object(): Operation[] {
    const { kind, verbs } = this.#resource;
    const operations = this.#readAndWrite(verbs, this.#scoped, `the specified ${kind}`, this.#refs.object);
    if (!this.#has('delete')) return operations;
    const answer = answersWithDeleted.has(kind) ? this.#refs.object : status;
    const remove = this.#operation({
      method: 'delete',
      id: this.#id('delete', this.#scoped),
      description: `delete ${article(kind)}`,
      action: 'delete',
      parameters: [...deleteParameters, nameParameter(kind), ...this.#scope],
      body: { schema: deleteOptions, required: false },
      responses: { 200: answer, 202: answer },
    });
    return [...operations, remove];
  }

  /** The three operations an object and most subresources share. */
  #readAndWrite(
    verbs: readonly string[],
    idName: string,
    what: string,
    schema: SchemaReference,
    gvk?: Operation['gvk'],
  ): Operation[] {
    const scope = [nameParameter(gvk?.kind ?? this.#resource.kind), ...this.#scope];
    const own = gvk ? { gvk } : {};
    const operations: Operation[] = [];
    if (verbs.includes('get')) {
      operations.push(
        this.#operation({
          ...own,
          method: 'get',
          id: this.#id('read', idName),
          description: `read ${what}`,
          action: 'get',
          parameters: scope,
          responses: { 200: schema },
        }),
      );
    }
    if (verbs.includes('update')) {
      operations.push(
        this.#operation({
          ...own,
          method: 'put',
          id: this.#id('replace', idName),
          description: `replace ${what}`,
          action: 'put',
          parameters: [...writeParameters, ...scope],
          body: { schema, required: true },
          responses: { 200: schema, 201: schema },
        }),
      );
    }
    if (verbs.includes('patch')) {
      operations.push(
        this.#operation({
          ...own,
          method: 'patch',
          id: this.#id('patch', idName),
          description: `partially update ${what}`,
          action: 'patch',
          parameters: [...patchParameters, ...scope],
          body: { schema: patch, required: true, isPatch: true },
          responses: { 200: schema, 201: schema },
        }),
      );
    }
    return operations;
  }

  #subresource(path: string, subresource: SubresourceRow): PathOperations[] {
    const { kind: parent, group, version } = this.#resource;
    const gvk = { group: subresource.group ?? group, version: subresource.version ?? version, kind: subresource.kind };
    const typeId = this.#refs.subresourceType(subresource);
    const idName = this.#scoped + capitalize(subresource.name);
    if (subresource.kind.endsWith('Options') && typeId !== undefined)
      return this.#connections(path, subresource, gvk, typeId);
    const schema: SchemaReference = typeId === undefined ? this.#refs.object : (schemas) => schemas.reference(typeId);
    if (subresource.name === 'log') return [{ path, operations: [this.#log(idName)] }];
    const what = `${subresource.name} of the specified ${parent}`;
    const operations = this.#readAndWrite(subresource.verbs, idName, what, schema, gvk).map((operation) => ({
      ...operation,
      parameters: operation.parameters.map((parameter) =>
        parameter.name === 'name' ? nameParameter(subresource.kind) : parameter,
      ),
    }));
    if (subresource.verbs.includes('create')) {
      operations.push({
        ...this.#create(),
        gvk,
        id: this.#id('create', idName),
        description: `create ${subresource.name} of ${article(parent)}`,
        parameters: [...writeParameters, nameParameter(subresource.kind), ...this.#scope],
        body: { schema, required: true },
        responses: { 200: schema, 201: schema, 202: schema },
      });
    }
    return [{ path, operations }];
  }

  #log(idName: string): Operation {
    const parameters = parametersOfOptions(this.#refs.optionParameters('core/v1.PodLogOptions'));
    return this.#operation({
      method: 'get',
      id: this.#id('read', idName),
      description: `read log of the specified ${this.#resource.kind}`,
      action: 'get',
      parameters: [...parameters, nameParameter(this.#resource.kind), ...this.#scope],
      responses: { 200: 'text' },
      produces: logMediaTypes,
    });
  }

  /** exec, attach, portforward: GET and POST; proxy: every method, with and without a path behind it. */
  #connections(
    path: string,
    subresource: SubresourceRow,
    gvk: NonNullable<Operation['gvk']>,
    typeId: string,
  ): PathOperations[] {
    const methods: readonly HttpMethod[] =
      subresource.name === 'proxy' ? ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] : ['get', 'post'];
    const scope = this.#scope.filter((parameter) => parameter !== prettyParameter);
    const parameters = [
      ...parametersOfOptions(this.#refs.optionParameters(typeId)),
      nameParameter(subresource.kind),
      ...scope,
    ];
    const connect = (suffix: string, extra: readonly Parameter[]) =>
      methods.map((method) =>
        this.#operation({
          method,
          id: this.#id('connect', `${capitalize(method)}${this.#scoped}${capitalize(subresource.name)}${suffix}`),
          description: `connect ${method.toUpperCase()} requests to ${subresource.name} of ${this.#resource.kind}`,
          action: 'connect',
          gvk,
          parameters: [...parameters, ...extra],
          responses: { 200: 'text' },
          produces: anyMediaType,
        }),
      );
    const paths = [{ path, operations: connect('', []) }];
    if (subresource.name === 'proxy')
      paths.push({ path: `${path}/{path}`, operations: connect('WithPath', [pathParameter]) });
    return paths;
  }

  /** The old way to watch, by a prefix of the path. */
  #watches(collection: string, object: string): PathOperations[] {
    const { kind, namespaced, resource } = this.#resource;
    const watch = (path: string, idName: string, action: string, scope: readonly Parameter[]): PathOperations => ({
      path: `${this.#root}/watch${path}`,
      operations: [
        this.#operation({
          method: 'get',
          id: this.#id('watch', idName),
          description: `watch changes of ${kind}. deprecated: list with the "watch" parameter instead`,
          action,
          parameters: [...listParameters, ...scope],
          responses: { 200: watchEvent },
          produces: listMediaTypes,
        }),
      ],
    });
    return [
      watch(object, this.#scoped, 'watch', [nameParameter(kind), ...this.#scope]),
      watch(collection, `${this.#scoped}List`, 'watchlist', this.#scope),
      ...(namespaced ? [watch(`/${resource}`, `${kind}ListForAllNamespaces`, 'watchlist', [prettyParameter])] : []),
    ];
  }
}

const patch: SchemaReference = (schemas) =>
  schemas.referenceTo('io.k8s.apimachinery.pkg.apis.meta.v1.Patch', () => ({
    description: 'Changes to an object, in the form the Content-Type says.',
    type: 'object',
  }));

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function article(kind: string): string {
  return /^[AEIOU]/.test(kind) ? `an ${kind}` : `a ${kind}`;
}
