/**
 * A custom resource in the hands of kubectl, in several releases: the example's Fleet is defined, applied, listed, explained, scaled,
 * patched, edited, waited for and deleted. Read top to bottom it is a tour.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { testedReleases } from '../../src/testing/kubectl.ts';
import { needs } from '../../src/testing/needs.ts';
import { startCluster } from '../conformance/cluster.ts';

const example = resolve(import.meta.dirname, '../../examples/04-custom-resource');
const releases = testedReleases();
const cluster = await startCluster({ scheduler: false });
const folder = mkdtempSync(join(tmpdir(), 'coracle-fleets-'));
after(() => rmSync(folder, { recursive: true }));

describe('a custom resource', needs('kubectl'), () => {
  for (const { release, path } of releases) {
    describe(`kubectl ${release}`, () => {
      const home = join(folder, release);
      let namespace = '';

      interface Answer {
        readonly stdout: string;
        readonly stderr: string;
      }

      async function ask(words: readonly string[], more: Record<string, string> = {}): Promise<Answer> {
        const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, HOME: home, ...more };
        return await promisify(execFile)(path, ['-n', namespace, ...words], { cwd: example, env });
      }
      const kubectl = async (...words: string[]): Promise<string> => (await ask(words)).stdout;
      const patch = (type: string, body: unknown) =>
        kubectl('patch', 'fleet', 'herring', `--type=${type}`, '-p', JSON.stringify(body));
      const field = (jsonPath: string) => kubectl('get', 'fleet', 'herring', '-o', `jsonpath={${jsonPath}}`);

      before(async () => {
        mkdirSync(home);
        namespace = await cluster.namespace();
        await kubectl('apply', '-f', 'fleet.yaml');
        await kubectl('wait', '--for=condition=Established', 'crd/fleets.example.com');
      });

      it('applies an object, and finds nothing to do the second time', async () => {
        assert.equal(await kubectl('apply', '-f', 'herring.yaml'), 'fleet.example.com/herring created\n');
        assert.equal(await kubectl('apply', '-f', 'herring.yaml'), 'fleet.example.com/herring unchanged\n');
        assert.equal(
          await kubectl('apply', '--server-side', '--force-conflicts', '-f', 'herring.yaml'),
          'fleet.example.com/herring serverside-applied\n',
        );
      });

      it('shows the columns of the definition', async () => {
        assert.match(await kubectl('get', 'fleets'), /^NAME +BOATS +AFLOAT +PHASE +AGE\nherring +2 +\d+s\n$/);
        assert.match(
          await kubectl('get', 'fl', '-o', 'wide'),
          /^NAME +BOATS +AFLOAT +PHASE +COLOUR +AGE\nherring +2 +tarred +\d+s\n$/,
        );
        assert.match(await kubectl('get', 'all'), /^NAME +BOATS .*\nfleet\.example\.com\/herring +2 /);
      });

      it('selects by a field of the definition', async () => {
        assert.match(await kubectl('get', 'fleets', '--field-selector', 'spec.colour=tarred'), /herring/);
        assert.equal(await kubectl('get', 'fleets', '--field-selector', 'spec.colour=red', '-o', 'name'), '');
        await assert.rejects(
          kubectl('get', 'fleets', '--field-selector', 'spec.boats=2'),
          /field label not supported: spec\.boats/,
        );
      });

      it('explains', async () => {
        const explained = await kubectl('explain', 'fleet.spec.boats');
        assert.match(explained, /How many boats there are to be\./);
        assert.match(await kubectl('explain', 'fleets', '--recursive'), /spec.*boats.*colour.*status.*selector/s);
      });

      it('describes', async () => {
        assert.match(
          await kubectl('describe', 'fleet', 'herring'),
          /Name: +herring.*Kind: +Fleet.*Boats: +2.*Colour: +tarred/s,
        );
      });

      it('scales', async () => {
        assert.equal(await kubectl('scale', 'fleet', 'herring', '--replicas=3'), 'fleet.example.com/herring scaled\n');
        assert.equal(await field('.spec.boats'), '3');
        await assert.rejects(
          kubectl('scale', 'fleet', 'herring', '--current-replicas=9', '--replicas=1'),
          /Expected replicas to be 9, was 3/,
        );
        await assert.rejects(
          kubectl('scale', 'fleet', 'herring', '--replicas=11'),
          /a harbour of 10 berths cannot take 11 boats/,
        );
      });

      it('patches by merge and by JSON patch, and knows that strategic merge is not for custom resources', async () => {
        assert.match(await patch('merge', { spec: { boats: 4 } }), /fleet\.example\.com\/herring patched/);
        assert.match(await patch('json', [{ op: 'replace', path: '/spec/boats', value: 5 }]), /patched/);
        assert.equal(await field('.spec.boats'), '5');
        await assert.rejects(
          patch('strategic', { spec: { boats: 6 } }),
          /strategic merge patch is not supported|the body of the request was in an unknown format/,
        );
        await assert.rejects(
          patch('merge', { spec: { colour: 'red' } }),
          /spec\.colour: Invalid value: "red": a hull is painted once/,
        );
        await assert.rejects(
          patch('merge', { spec: { boats: 'many' } }),
          /spec\.boats in body must be of type integer: "string"/,
        );
      });

      it('edits', async () => {
        const editor = join(home, 'editor');
        writeFileSync(editor, '#!/bin/sh\nsed -i "s/boats: 5/boats: 6/" "$1"\n');
        chmodSync(editor, 0o755);
        const { stdout } = await ask(['edit', 'fleet', 'herring'], { KUBE_EDITOR: editor });
        assert.equal(stdout, 'fleet.example.com/herring edited\n');
        assert.equal(await field('.spec.boats'), '6');
      });

      it('labels and annotates', async () => {
        assert.match(await kubectl('label', 'fleet', 'herring', 'sea=north'), /labeled/);
        assert.match(await kubectl('annotate', 'fleet', 'herring', 'example.com/master=Jan'), /annotated?\n/);
        assert.equal(await kubectl('get', 'fleets', '-l', 'sea=north', '-o', 'name'), 'fleet.example.com/herring\n');
      });

      it('waits for what a status says', async () => {
        const waiting = kubectl('wait', 'fleet/herring', '--for=jsonpath={.status.phase}=Afloat', '--timeout=20s');
        await kubectl(
          'patch',
          'fleet',
          'herring',
          '--subresource=status',
          '--type=merge',
          '-p',
          '{"status":{"boats":6,"phase":"Afloat"}}',
        );
        assert.match(await waiting, /condition met/);
        assert.match(await kubectl('get', 'fleets'), /herring +6 +6 +Afloat/);
      });

      it('warns of a field that nobody knows', async () => {
        const body =
          '{"apiVersion":"example.com/v1","kind":"Fleet","metadata":{"name":"a"},"spec":{"boats":1,"oars":2}}';
        writeFileSync(join(home, 'a.json'), body);
        await assert.rejects(kubectl('create', '-f', join(home, 'a.json')), /unknown field "spec\.oars"/);
        const { stderr } = await ask(['create', '--validate=warn', '-f', join(home, 'a.json')]);
        assert.match(stderr, /unknown field "spec\.oars"/);
      });

      it('deletes, and waits until it is done', async () => {
        assert.match(await kubectl('delete', 'fleet', 'herring', 'a'), /"herring" deleted/);
        assert.match((await ask(['get', 'fleets'])).stderr, /No resources found/);
      });
    });
  }
});
