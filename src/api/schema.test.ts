import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { builtinResources, builtinSchema } from './schema.ts';

describe('kind tables', () => {
  const schema = builtinSchema();

  it('are what the generator makes of the facts', () => {
    const script = join(import.meta.dirname, '../../scripts/generate-api.ts');
    const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  });

  it('resolve every reference', () => {
    for (const id of Object.keys(schema.document.types)) {
      for (const field of schema.type(id).fields) assert.ok(field.ref ?? field.scalar, `${id}.${field.name}`);
    }
  });

  it('copy inlined fields into their parent', () => {
    const names = schema.type('core/v1.Volume').fields.map((field) => field.name);
    assert.deepEqual(names.slice(0, 3), ['name', 'hostPath', 'emptyDir']);
  });

  it('know lists and the kinds every group version has', () => {
    assert.equal(schema.typeOf('v1', 'PodList')?.id, 'core/v1.PodList');
    assert.equal(schema.typeOf('apps/v1', 'DeleteOptions')?.id, 'meta/v1.DeleteOptions');
    assert.equal(schema.typeOf('nowhere/v1', 'DeleteOptions'), undefined);
    assert.equal(schema.typeOf('v1', 'Deployment'), undefined);
  });

  it('have one row for each resource served, with its types', () => {
    const keys = builtinResources().map((row) => `${row.group}/${row.version}/${row.resource}`);
    assert.equal(new Set(keys).size, keys.length);
    for (const row of builtinResources()) assert.ok(schema.hasType(row.type), row.type);
  });

  it('store objects where upstream stores them', () => {
    const prefixes = new Map(builtinResources().map((row) => [`${row.resource}.${row.group}`, row.storagePrefix]));
    assert.equal(prefixes.get('nodes.'), 'minions');
    assert.equal(prefixes.get('endpoints.'), 'services/endpoints');
    assert.equal(prefixes.get('deployments.apps'), 'deployments');
    assert.equal(
      prefixes.get('customresourcedefinitions.apiextensions.k8s.io'),
      'apiextensions.k8s.io/customresourcedefinitions',
    );
    assert.equal(prefixes.get('ingresses.networking.k8s.io'), 'ingress');
  });
});
