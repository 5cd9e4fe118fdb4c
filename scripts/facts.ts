/** The shape of `facts/v1.36/v1.36.json` and its neighbours, as far as the generator reads them. */

export interface FieldFact {
  readonly name: string;
  readonly type: string;
  readonly list?: boolean;
  readonly map?: boolean;
  readonly pointer?: boolean;
  readonly inline?: boolean;
  readonly optional?: boolean;
  readonly named?: string;
  readonly enum?: readonly string[];
  readonly [fact: string]: unknown;
}

export interface TypeFact {
  readonly fields: readonly FieldFact[];
  readonly jsonList?: string;
  readonly jsonOneOf?: readonly string[];
  readonly [fact: string]: unknown;
}

export interface KindFact {
  readonly type: string;
  readonly list?: string;
  readonly wire?: boolean;
  readonly introduced?: string;
  readonly deprecated?: string;
  readonly removed?: string;
}

export interface SubresourceFact {
  readonly name: string;
  readonly kind: string;
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly string[];
}

export interface ResourceFact {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly subresources: readonly SubresourceFact[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly singular: string;
}

export interface PackageFact {
  readonly group: string;
  readonly version: string;
  readonly stability: string;
  readonly proto: string;
  readonly openapi: string;
}

export interface Facts {
  readonly release: string;
  readonly packages: Readonly<Record<string, PackageFact>>;
  readonly named: Readonly<
    Record<string, { readonly type: string; readonly enum?: boolean; readonly values?: readonly string[] }>
  >;
  readonly types: Readonly<Record<string, TypeFact>>;
  readonly kinds: Readonly<Record<string, Readonly<Record<string, KindFact>>>>;
  readonly everyGroupVersion: Readonly<Record<string, string>>;
  readonly resources: readonly ResourceFact[];
}

/** `core/v1.Pod` is package `core/v1`, name `Pod`. */
export function splitTypeId(id: string): { readonly pack: string; readonly name: string } {
  const dot = id.lastIndexOf('.');
  return { pack: id.slice(0, dot), name: id.slice(dot + 1) };
}
