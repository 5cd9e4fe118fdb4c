/** Queries of a node's logs: what may be asked, and where the answer comes from. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { systemClock } from '../../base/clock.ts';
import { type Journal, systemJournal } from './journal.ts';
import { type SystemLogRequest, systemLogs } from './system-logs.ts';

const folder = mkdtempSync(join(tmpdir(), 'coracle-logs-'));
after(() => rmSync(folder, { recursive: true }));
const directory = join(folder, 'log');
mkdirSync(join(directory, 'nested'), { recursive: true });
writeFileSync(join(folder, 'secret'), 'hidden');
writeFileSync(join(directory, 'foo.log'), 'foo in a file\n');
writeFileSync(join(directory, 'empty'), '');
writeFileSync(join(directory, 'nested', 'nested.log'), 'nested in a file\n');
symlinkSync(join(folder, 'secret'), join(directory, 'link'));

/** Knows the unit kubelet, and answers with what it was told. */
const journal: Journal = {
  units: async () => 'ssh.service\nkubelet.service\n',
  async *read(args) {
    yield Buffer.from(`${args.join(' ')}\n`);
  },
};

async function ask(search: string, { path = '', ...options }: Partial<SystemLogRequest> & { journal?: Journal } = {}) {
  const logs = { directory, journal: options.journal ?? journal };
  const parameters = new URLSearchParams(search);
  const signal = new AbortController().signal;
  const request = { path, parameters, acceptEncoding: undefined, signal, ...options };
  const { status, body, headers } = await systemLogs(logs, request);
  const chunks: Uint8Array[] = [];
  if (typeof body === 'string' || Buffer.isBuffer(body)) chunks.push(Buffer.from(body));
  else for await (const chunk of body) chunks.push(chunk);
  return { status, headers, bytes: Buffer.concat(chunks), text: Buffer.concat(chunks).toString() };
}

describe('a query for the logs of services', () => {
  it('is answered by the journal, with all that it asks for', async () => {
    const { text } = await ask(
      'query=kubelet&query=ssh&sinceTime=2026-01-01T01:00:00%2B01:00&untilTime=2026-01-02T00:00:00Z&tailLines=5&pattern=a.*b&boot=-1',
    );
    assert.equal(
      text,
      '--utc --no-pager --output=short-precise --since=2026-01-01 00:00:00 UTC --until=2026-01-02 00:00:00 UTC --pager-end --lines=5 --unit=kubelet --unit=ssh --grep=a.*b --boot -1\n',
    );
  });

  it('is answered by files where the journal does not know them', async () => {
    assert.equal((await ask('query=foo')).text, 'foo in a file\n');
    assert.equal((await ask('query=nested&query=foo')).text, 'nested in a file\nfoo in a file\n');
    assert.equal((await ask('query=foo.log')).text, 'foo in a file\n');
    assert.equal((await ask('query=none')).text, '\nlog not found for none\n');
    assert.equal((await ask('query=link')).text, '\nlog not found for link\n', 'a link out of the folder');
    assert.equal(
      (await ask('query=foo&query=nested&tailLines=1')).text,
      '\noptions present and query resolved to log files for [foo nested]\ntry without specifying options\n',
    );
  });

  it('is packed for who asks for that', async () => {
    const { headers, bytes } = await ask('query=foo', { acceptEncoding: 'gzip' });
    assert.equal(headers['content-encoding'], 'gzip');
    assert.equal(gunzipSync(bytes).toString(), 'foo in a file\n');
  });

  it('says when the journal cannot be read', async () => {
    const broken: Journal = {
      units: journal.units,
      read: () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('ENOENT')) }) }),
    };
    assert.equal((await ask('query=kubelet', { journal: broken })).text, '\nerror: journal output not available\n');
  });
});

describe('a query for a file', () => {
  it('is answered with the file, and with nothing beside the folder', async () => {
    assert.equal((await ask('query=/foo.log')).text, 'foo in a file\n');
    assert.equal((await ask('query=nested%5Cnested.log')).text, 'nested in a file\n');
    for (const file of ['/../secret', 'x/../../secret', '/link', '/none']) {
      const { status, text } = await ask(`query=${file}`);
      assert.equal(status, 406, file);
      assert.match(text, /^query: Invalid value: \["[^"]+"\]: statat .*: no such file or directory\n$/);
    }
  });
});

describe('a query that cannot be', () => {
  const long = 'a'.repeat(257);
  for (const [search, status, text] of [
    ['query=%20', 400, 'query: Invalid value: [" "]: query cannot be empty'],
    ['query=a&sinceTime=yesterday', 400, 'sinceTime: Invalid value: "yesterday": invalid time format'],
    ['query=a&untilTime=1', 400, 'untilTime: Invalid value: "1": invalid time format'],
    [
      'query=a&boot=x&tailLines=9.5',
      400,
      '[boot: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax, tailLines: Invalid value: "9.5": strconv.Atoi: parsing "9.5": invalid syntax]',
    ],
    ['tailLines=1', 406, 'query: Required value: cannot be empty with options'],
    ['query=/a&query=b', 406, 'query: Invalid value: "[/a], [b]": cannot specify a file and service'],
    ['query=/a&query=/b', 406, 'query: Invalid value: ["/a","/b"]: cannot specify more than one file'],
    ['query=/a&boot=0', 406, 'query: Invalid value: ["/a"]: cannot specify file with options'],
    ['query=a%20-x', 406, 'query: Invalid value: "a -x": input contains unsupported characters'],
    [`query=${long}`, 406, `query: Invalid value: "${long}": length must be less than 256`],
    ['query=a&query=b&query=c&query=d&query=e', 406, 'query: Too many: 5: must have at most 4 items'],
    ['query=a&boot=1', 406, 'boot: Invalid value: 1: must be less than 1'],
    ['query=a&tailLines=100001', 406, 'tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive'],
    ['query=a&pattern=(', 406, 'pattern: Invalid value: "(": error parsing regexp: missing closing ): `(`'],
    [
      'query=a&sinceTime=2026-01-02T00:00:00Z&untilTime=2026-01-01T00:00:00Z',
      406,
      'untilTime: Invalid value: "2026-01-01T00:00:00Z": must be after `sinceTime`',
    ],
  ] as const) {
    it(`is told so: ${search.slice(0, 60)}`, async () => {
      const answer = await ask(search);
      assert.deepEqual([answer.status, answer.text], [status, `${text}\n`]);
    });
  }
});

it('shows files as before where nothing is asked, and ignores queries where they are switched off', async () => {
  assert.equal((await ask('', { path: 'foo.log' })).text, 'foo in a file\n');
  assert.equal((await ask('', { path: 'empty' })).text, '');
  const parameters = new URLSearchParams('query=kubelet&boot=x');
  const request = { path: 'foo.log', parameters, acceptEncoding: undefined, signal: new AbortController().signal };
  assert.equal((await systemLogs({ directory }, request)).status, 200);
});

describe('the journal of the machine', () => {
  const program = (name: string, script: string) => {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    return path;
  };
  const { signal } = new AbortController();
  const read = async (path: string, ...args: string[]) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of systemJournal(systemClock, path).read(args, signal)) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  };

  it('is what journalctl prints, complaints too', async () => {
    const path = program('journalctl', 'echo "$@"; echo oh >&2; exit 1');
    assert.deepEqual((await read(path, '--boot', '0')).split('\n').toSorted(), ['', '--boot 0', 'oh']);
  });

  it('has no units where journalctl fails, and cannot be read where there is none', async () => {
    assert.equal(await systemJournal(systemClock, program('good', 'echo a.service')).units(signal), 'a.service\n');
    assert.equal(await systemJournal(systemClock, program('bad', 'echo a.service; exit 1')).units(signal), '');
    assert.equal(await systemJournal(systemClock, join(folder, 'none')).units(signal), '');
    await assert.rejects(read(join(folder, 'none')), /ENOENT/);
  });
});
