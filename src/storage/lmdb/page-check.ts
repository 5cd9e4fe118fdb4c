/**
 * Looks through the pages of an LMDB file before the library does, for the library trusts them: on a damaged page it ends the process,
 * or passes over what it cannot find. Reads only; takes a few microseconds for each page.
 *
 *   page    24 bytes of head (its number, its transaction, ..., kind, end of the pointers, start of the nodes), 2-byte pointers, nodes
 *   branch  nodes of a child's number and the lowest key below it
 *   leaf    nodes of a key and a record, or of a key and the run of pages that holds a large record
 *   meta    the first two pages: where the roots of the free list and of the table lie; the one of the newer transaction counts
 *
 * What it proves: each page that the roots lead to is inside the file, is of the kind that its place asks for and is led to once; nodes
 * lie inside their pages; keys rise over all leaves; there are as many records as the root says. What a record holds is for
 * its own checksum to prove.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const magic = 0xbeefc0de;
const headBytes = 24;
const nodeHeadBytes = 8;
const kinds = { branch: 0x01, leaf: 0x02, overflow: 0x04, meta: 0x08 } as const;
/** The record lies on pages of its own. */
const isLarge = 0x01;
const noRoot = 0xffff_ffff_ffff_ffffn;
const deepestTree = 32;

export type PageProblem =
  /** No file of LMDB's. */
  { readonly is: 'foreign' } | { readonly is: 'damaged'; readonly detail: string };

interface Tree {
  readonly name: string;
  readonly depth: number;
  readonly entries: bigint;
  readonly root: bigint;
}

interface Meta {
  readonly transaction: bigint;
  /** The free list, and the table. */
  readonly trees: readonly [Tree, Tree];
}

class Damage extends Error {}

/** Undefined: nothing is wrong. Throws what the file system throws. */
export function findPageProblem(file: string): PageProblem | undefined {
  const descriptor = openSync(file, 'r');
  try {
    const fileBytes = fstatSync(descriptor).size;
    // What a kill between making and filling the file leaves.
    if (fileBytes === 0) return undefined;
    const start = Buffer.alloc(256);
    readSync(descriptor, start, 0, start.length, 0);
    if (start.readUInt32LE(headBytes) !== magic) return { is: 'foreign' };
    new PageCheck(descriptor, fileBytes).run(start);
    return undefined;
  } catch (error) {
    if (error instanceof Damage) return { is: 'damaged', detail: error.message };
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

export interface Salvaged {
  /** Pages that are not what they must be; what they led to is lost too. */
  readonly lostPages: number;
}

/** Calls `take` with the keys and records of the table that a damaged file still leads to. Throws what the file system throws. */
export function salvagePages(file: string, take: (key: Buffer, record: Buffer) => void): Salvaged {
  const descriptor = openSync(file, 'r');
  try {
    const start = Buffer.alloc(256);
    readSync(descriptor, start, 0, start.length, 0);
    return { lostPages: new PageCheck(descriptor, fstatSync(descriptor).size).salvage(start, take) };
  } finally {
    closeSync(descriptor);
  }
}

class PageCheck {
  readonly #descriptor: number;
  readonly #fileBytes: number;
  #page = Buffer.alloc(0);
  #seen = new Uint8Array(0);

  constructor(descriptor: number, fileBytes: number) {
    this.#descriptor = descriptor;
    this.#fileBytes = fileBytes;
  }

  run(start: Buffer): void {
    this.#begin(start);
    const metas = [0, 1].map((number) => this.#meta(number));
    const newest = metas[0]!.transaction >= metas[1]!.transaction ? metas[0]! : metas[1]!;
    for (const tree of newest.trees) this.#checkTree(tree);
  }

  /** The number of pages that were lost. */
  salvage(start: Buffer, take: (key: Buffer, record: Buffer) => void): number {
    let lost = 0;
    const attempt = (work: () => void) => {
      try {
        work();
      } catch (error) {
        if (!(error instanceof Damage)) throw error;
        lost++;
      }
    };
    const metas: Meta[] = [];
    attempt(() => this.#begin(start));
    for (const number of [0, 1]) attempt(() => metas.push(this.#meta(number)));
    const newest = metas.sort((a, b) => Number(b.transaction - a.transaction))[0];
    const table = newest?.trees[1];
    if (!table || table.root === noRoot || table.depth > deepestTree) return lost;
    let numbers = [Number(table.root)];
    for (let level = table.depth; level > 1; level--) {
      const children: number[] = [];
      for (const number of numbers)
        attempt(() => this.#visit(number, 'branch', (at) => children.push(childOf(this.#page, at))));
      numbers = children;
    }
    for (const number of numbers)
      attempt(() =>
        this.#visit(number, 'leaf', (at) => {
          const key = Buffer.from(keyOf(this.#page, at));
          attempt(() => take(key, this.#dataOf(number, at)));
        }),
      );
    return lost;
  }

  #begin(start: Buffer): void {
    const pageBytes = start.readUInt32LE(48);
    if (pageBytes < 512 || pageBytes > 65_536 || (pageBytes & (pageBytes - 1)) !== 0)
      throw new Damage(`its pages cannot have ${pageBytes} bytes`);
    this.#page = Buffer.alloc(pageBytes);
    this.#seen = new Uint8Array(Math.ceil(this.#fileBytes / pageBytes));
  }

  #meta(number: number): Meta {
    const page = this.#read(number);
    if (page.readUInt16LE(18) !== kinds.meta || page.readUInt32LE(headBytes) !== magic)
      throw new Damage(`page ${number}, which says where everything lies, is not what it must be`);
    this.#seen[number] = 1;
    const tree = (name: string, at: number): Tree => ({
      name,
      depth: page.readUInt16LE(at + 6),
      entries: page.readBigUInt64LE(at + 32),
      root: page.readBigUInt64LE(at + 40),
    });
    return { transaction: page.readBigUInt64LE(152), trees: [tree('free list', 48), tree('table', 96)] };
  }

  #checkTree({ name, depth, entries, root }: Tree): void {
    if (root === noRoot) return;
    if (depth > deepestTree) throw new Damage(`the ${name} cannot be ${depth} levels deep`);
    let numbers = [Number(root)];
    for (let level = depth; level > 1; level--) {
      const children: number[] = [];
      for (const number of numbers) this.#visit(number, 'branch', (at) => children.push(childOf(this.#page, at)));
      numbers = children;
    }
    let found = 0n;
    let last: Buffer | undefined;
    for (const number of numbers) {
      this.#visit(number, 'leaf', (at) => {
        const key = Buffer.from(keyOf(this.#page, at));
        // The free list's keys are numbers in the machine's byte order.
        if (last && name === 'table' && Buffer.compare(last, key) >= 0)
          throw new Damage(`page ${number} has records out of order`);
        last = key;
        found++;
        if ((this.#page.readUInt16LE(at + 4) & isLarge) !== 0) this.#claimRun(number, at);
      });
    }
    if (found !== entries) throw new Damage(`the ${name} has ${found} entries where there must be ${entries}`);
  }

  /** Calls `visitNode` with where each node begins, once all of the page has proved right. */
  #visit(number: number, kind: 'branch' | 'leaf', visitNode: (at: number) => void): void {
    this.#claim(number);
    const page = this.#read(number);
    const pointersEnd = page.readUInt16LE(20);
    const nodesStart = page.readUInt16LE(22);
    const room = page.length - headBytes;
    const ok =
      page.readBigUInt64LE(0) === BigInt(number) &&
      page.readUInt16LE(18) === kinds[kind] &&
      pointersEnd % 2 === 0 &&
      pointersEnd > 0 &&
      pointersEnd <= nodesStart &&
      nodesStart <= room;
    if (!ok) throw new Damage(`page ${number} is not the ${kind} page that it must be`);
    const starts: number[] = [];
    for (let pointer = 0; pointer < pointersEnd; pointer += 2) {
      const at = headBytes + page.readUInt16LE(headBytes + pointer);
      if (at < headBytes + nodesStart || !isInside(page, at, kind))
        throw new Damage(`page ${number} has an entry that leads out of it`);
      starts.push(at);
    }
    for (const at of starts) visitNode(at);
  }

  /** The pages of a large record: their first has a head like any page. */
  #claimRun(number: number, at: number): void {
    const place = at + nodeHeadBytes + this.#page.readUInt16LE(at + 6);
    const first = Number(this.#page.readBigUInt64LE(place));
    const count = Number(this.#page.readBigUInt64LE(place + 16));
    const bytes = dataBytes(this.#page, at);
    if (count < 1 || count > this.#seen.length || count * this.#page.length < bytes + headBytes)
      throw new Damage(`page ${number} has a record of ${bytes} bytes on ${count} pages`);
    for (let page = first; page < first + count; page++) this.#claim(page);
    // The library passes over a record whose first page is another's.
    const head = Buffer.alloc(headBytes);
    readSync(this.#descriptor, head, 0, headBytes, first * this.#page.length);
    if (head.readBigUInt64LE(0) !== BigInt(first) || head.readUInt16LE(18) !== kinds.overflow)
      throw new Damage(`page ${first} does not begin the record that it must begin`);
  }

  #dataOf(number: number, at: number): Buffer {
    const keyEnd = at + nodeHeadBytes + this.#page.readUInt16LE(at + 6);
    const bytes = dataBytes(this.#page, at);
    if ((this.#page.readUInt16LE(at + 4) & isLarge) === 0)
      return Buffer.from(this.#page.subarray(keyEnd, keyEnd + bytes));
    this.#claimRun(number, at);
    const data = Buffer.alloc(bytes);
    const first = Number(this.#page.readBigUInt64LE(keyEnd));
    readSync(this.#descriptor, data, 0, bytes, first * this.#page.length + headBytes);
    return data;
  }

  #claim(number: number): void {
    // The file may be shorter than its pages: what is missing at its end.
    if (!(number >= 2) || (number + 1) * this.#page.length > this.#fileBytes)
      throw new Damage(`page ${number} lies outside of the file, which ends after ${this.#seen.length} pages`);
    if (this.#seen[number] === 1) throw new Damage(`page ${number} has two places`);
    this.#seen[number] = 1;
  }

  #read(number: number): Buffer {
    const length = readSync(this.#descriptor, this.#page, 0, this.#page.length, number * this.#page.length);
    if (length < this.#page.length) throw new Damage(`the file ends in the middle of page ${number}`);
    return this.#page;
  }
}

function childOf(page: Buffer, at: number): number {
  return page.readUIntLE(at, 6);
}

function keyOf(page: Buffer, at: number): Buffer {
  const start = at + nodeHeadBytes;
  return page.subarray(start, start + page.readUInt16LE(at + 6));
}

function dataBytes(page: Buffer, at: number): number {
  return page.readUInt16LE(at) + page.readUInt16LE(at + 2) * 0x1_0000;
}

function isInside(page: Buffer, at: number, kind: 'branch' | 'leaf'): boolean {
  if (at + nodeHeadBytes > page.length) return false;
  const keyEnd = at + nodeHeadBytes + page.readUInt16LE(at + 6);
  if (kind === 'branch') return keyEnd <= page.length;
  const large = (page.readUInt16LE(at + 4) & isLarge) !== 0;
  return keyEnd + (large ? 24 : dataBytes(page, at)) <= page.length;
}
