/** The page at `/` that lists where to go from there. Which of the paths somebody may follow is authorization's to say. */
import type { Handler } from './request.ts';
import type { ServedResources } from './resources.ts';

export interface PathIndexOptions {
  readonly resources: ServedResources;
  /** Paths registered with the server, prefixes (which end in `/`) among them. */
  readonly registered: () => Iterable<string>;
  readonly healthChecks: () => Iterable<string>;
}

const documents = ['/api', '/apis', '/apis/', '/openapi/v2', '/openapi/v3'];

export function pathIndexHandler({ resources, registered, healthChecks }: PathIndexOptions): Handler {
  return async () => {
    const paths = new Set([...documents, ...registered(), ...healthChecks()]);
    for (const { row } of resources.all()) {
      if (row.group !== '') paths.add(`/apis/${row.group}`);
      paths.add(row.group === '' ? `/api/${row.version}` : `/apis/${row.group}/${row.version}`);
    }
    const body = JSON.stringify({ paths: [...paths].sort() }, undefined, 2);
    return {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: { kind: 'bytes', chunks: [Buffer.from(body)] },
    };
  };
}
