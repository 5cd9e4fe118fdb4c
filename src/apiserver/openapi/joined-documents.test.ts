import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { joinedDocuments, ownPart } from './joined-documents.ts';
import type { Json } from './schemas.ts';

const reference = (name: string) => ({ $ref: `#/definitions/${name}` });
const other: Json = {
  swagger: '2.0',
  paths: { '/apis/a/v1/things': { get: reference('Thing') }, '/apis/': { get: reference('Group') } },
  definitions: {
    Thing: { properties: { meta: reference('Meta'), self: reference('Thing') } },
    Meta: { description: 'theirs' },
    Group: {},
  },
};

describe('the own part of a document', () => {
  it('has the paths of one group version and what they refer to', () => {
    const part = ownPart(other, '/apis/a/v1/');
    assert.deepEqual(Object.keys(part.paths as Json), ['/apis/a/v1/things']);
    assert.deepEqual(Object.keys(part.definitions as Json), ['Thing', 'Meta']);
  });

  for (const document of [null, [], { paths: [] }, 'text', {}]) {
    it(`is refused of ${JSON.stringify(document)}`, () =>
      assert.throws(() => ownPart(document, '/apis/'), /not the form/));
  }

  it('is refused of a document without end', () => {
    let deep: Json = {};
    for (let i = 0; i < 100_000; i++) deep = { properties: deep };
    assert.throws(() => ownPart({ paths: { '/apis/a/v1/b': deep } }, '/apis/a/v1/'), /too deeply/);
  });
});

describe('joined documents', () => {
  const part = ownPart(other, '/apis/a/v1/');

  it('keep a name for what had it first, and give the other another', () => {
    const own = { swagger: '2.0', paths: {}, definitions: { Meta: { description: 'ours' } } };
    const joined = joinedDocuments(own, [part]);
    assert.deepEqual(joined.definitions, {
      Meta: { description: 'ours' },
      Meta_v2: { description: 'theirs' },
      Thing: { properties: { meta: reference('Meta_v2'), self: reference('Thing') } },
    });
    assert.deepEqual(joined.paths, { '/apis/a/v1/things': { get: reference('Thing') } });
    assert.equal(joined.swagger, '2.0');
  });

  it('have once what is the same', () => {
    const own = { paths: {}, definitions: { Meta: { description: 'theirs' } } };
    assert.deepEqual(Object.keys(joinedDocuments(own, [part, part]).definitions as Json), ['Meta', 'Thing']);
  });

  it('keep a path that is there', () => {
    const own = { paths: { '/apis/a/v1/things': 'ours' }, definitions: {} };
    assert.deepEqual(joinedDocuments(own, [part]).paths, own.paths);
  });
});
